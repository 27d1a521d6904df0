/** A self-signed certificate for `localhost` and 127.0.0.1. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Tests that need `openssl` are skipped if it is missing. */
export const HAS_OPENSSL = spawnSync("openssl", ["version"]).status === 0;

export interface Certificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

/** @param names the subject's alternative names. */
export function makeCertificate(names = "DNS:localhost,IP:127.0.0.1"): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "certificate-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const make =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost " +
    `-addext subjectAltName=${names} -days 2 -keyout ${key} -out ${cert}`;
  spawnSync("openssl", make.split(" "));
  const made = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  rmSync(folder, { recursive: true });
  return made;
}
