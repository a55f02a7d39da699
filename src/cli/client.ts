#!/usr/bin/env node
import './node-20.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { openInBrowser } from './browser.ts';
import { CLIENT_PROGRAM } from './client-table.ts';
import { clientMachineChecks } from './doctor/own-state.ts';
import { hubFetch } from './hub/hub-fetch.ts';
import { promptSecret } from './identity/secret-prompt.ts';
import { runCli } from './run-cli.ts';
import { promptLine } from './terminal/line-prompt.ts';

// A reader such as `head` that closes the pipe is no error. Windows reports EOF.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE' || error.code === 'EOF') process.exit(0);
  throw error;
});

// The umask is set before any file is written, because logins contain tokens and keys.
process.umask(0o077);

const exitCode = await runCli(process.argv.slice(2), CLIENT_PROGRAM, {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: process.env,
  fetch: hubFetch(process.env),
  sleep,
  machineChecks: async () => clientMachineChecks(process.env, CLIENT_PROGRAM.advice.UNAUTHENTICATED),
  openFile: (file) => openInBrowser(file, process.env),
  askSecret: (prompt) => promptSecret(prompt, process.stdin, process.stderr),
  askLine: (prompt) => promptLine(prompt, { input: process.stdin, output: process.stderr }),
});
// The exit code is set without calling exit(), because data that are still in a pipe would be lost.
process.exitCode = exitCode;
