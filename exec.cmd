@rem `npm start` uses exec, so that npm passes signals on to the gateway and not to a shell. cmd.exe knows no exec.
@%*
