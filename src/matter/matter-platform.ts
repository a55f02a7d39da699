import { config, NodeJsAlreadyInitializedError } from '@matter/nodejs/config';

// matter.js reads these settings once, while its packages load. So every file that loads matter.js must import this file first. `sqlite`
// uses one file with synchronous FULL; `file` writes thousands of files and can lose the fabric silently.
try {
  config.storageDriver = 'sqlite';
  config.trapProcessSignals = false;
  config.trapUnhandledErrors = false;
  config.setProcessExitCodeOnError = false;
  config.loadProcessArgv = false;
  config.loadProcessEnv = false;
  config.loadConfigFile = false;
} catch (error) {
  if (!(error instanceof NodeJsAlreadyInitializedError)) throw error;
}
