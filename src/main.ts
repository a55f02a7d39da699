#!/usr/bin/env -S node --disable-warning=ExperimentalWarning --max-semi-space-size=2
import { setTimeout as sleep } from 'node:timers/promises';
import { HUB_PROGRAM } from './cli/command-table.ts';
import { hubMachineChecks } from './cli/doctor/own-state.ts';
import { hubFetch } from './cli/hub/hub-fetch.ts';
import { runCli } from './cli/run-cli.ts';

/** Runs a hub until SIGTERM or SIGINT. A second signal ends the process at once. */
async function serve(): Promise<number> {
  const [{ runHub }, { Hub }] = await Promise.all([import('./hub/run-hub.ts'), import('./hub/hub.ts')]);
  return runHub(process.env, (parts, options) => new Hub(parts, options));
}

// If a reader such as `head` closes the pipe, this is no error, and the program ends.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

// The umask is set before any file is written, because the state contains keys.
process.umask(0o077);

const exitCode = await runCli(process.argv.slice(2), HUB_PROGRAM, {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: process.env,
  fetch: hubFetch(process.env),
  serve,
  sleep,
  machineChecks: async (ports) => {
    const [{ networkChecks }, { configuredMemory }] = await Promise.all([
      import('./doctor/network-checks.ts'),
      import('./hub/config/config-check.ts'),
    ]);
    return hubMachineChecks(process.env, await networkChecks(ports), configuredMemory(process.env));
  },
  openFile: async (file) => (await import('./cli/browser.ts')).openInBrowser(file, process.env),
  askSecret: async (prompt) => (await import('./cli/identity/secret-prompt.ts')).promptSecret(prompt, process.stdin, process.stderr),
  askLine: async (prompt) =>
    (await import('./cli/terminal/line-prompt.ts')).promptLine(prompt, { input: process.stdin, output: process.stderr }),
  configCheck: async (file) => (await import('./hub/config/config-check.ts')).checkConfigFile(process.env, file),
  safeOutputs: async () => (await import('./hub/offline/safe-outputs.ts')).safeOutputs(process.env),
  upgrade: {
    watch: async () => (await import('./hub/offline/debian-upgrade.ts')).watchUpgrade(),
    goBack: async () => (await import('./hub/offline/debian-upgrade.ts')).goBackHere(),
  },
  stateArchive: async () => (await import('./hub/offline/backup.ts')).stateArchive(process.env),
  profileCheck: async (files) => (await import('./hub/offline/profile-files.ts')).checkProfileFiles(files),
  rulesCheck: async (file, known) => (await import('./auth/rules/rule-compiler.ts')).checkRulesFile(file, known),
  profileDraft: async (description) => (await import('./hub/offline/profile-files.ts')).draftProfileFor(description),
});
// The exit code is set without calling exit(), because data that are still in a pipe would be lost.
process.exitCode = exitCode;
