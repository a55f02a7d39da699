import { config, NodeJsAlreadyInitializedError } from '@matter/nodejs/config';

// matter.js reads these settings once, while its packages load. So every file that loads matter.js must import this file first. The driver
// `sqlite` uses one synced file. The driver `file` would write thousands of files, and could lose the fabric without an error.
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
