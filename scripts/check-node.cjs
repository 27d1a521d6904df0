/** After `npm ci` in a clone: one sentence where the Node that ran it is too old for the gateway. Never fails. */
const [, version = process.versions.node] =
  /node\/v?(\S+)/.exec(process.env.npm_config_user_agent || "") || [];
const [major, minor] = version.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `This is Node ${version}. The gateway needs 22.19 or newer; npm start and npm test bring one along.`,
  );
}
