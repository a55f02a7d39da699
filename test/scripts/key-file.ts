import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Writes an OpenPGP key that signs and that nobody keeps. Returns the path. */
export function writeKeyFile(path: string): string {
  // A socket of gpg-agent lies in the folder, so its path has to be short.
  const home = mkdtempSync(`${tmpdir()}/atmo-key-`);
  const gpg = (...args: string[]) => execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', ...args], { stdio: 'pipe' });
  gpg('--passphrase', '', '--quick-gen-key', 'Owner <owner@example.org>', 'ed25519', 'sign', 'never');
  writeFileSync(path, gpg('--armor', '--export-secret-keys'));
  execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
  rmSync(home, { recursive: true });
  return path;
}
