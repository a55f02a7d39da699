import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../errors.ts';

/** JSON Schema of a setting that says where a secret is, and never what it is: the configuration file may be read by others. */
export const SECRET_SOURCE = {
  type: 'string',
  pattern: '^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.+|credential:[A-Za-z0-9._-]+)$',
} as const;

const READABLE_BY_OTHERS = 0o077;

/**
 * The secret of a setting: `env:NAME`, `file:/path` (its owner's alone, mode 0600) or `credential:NAME` (systemd.exec(5),
 * LoadCredential). White space around it is taken away. CONFIG_INVALID says which is missing, never what it held.
 */
export function readSecret(source: string, env: NodeJS.ProcessEnv): string {
  const [kind, ...rest] = source.split(':');
  const place = rest.join(':');
  const secret = kind === 'env' ? env[place] : readFile(kind === 'credential' ? credentialPath(place, env) : place, kind === 'file');
  if (secret === undefined || secret.trim() === '') throw invalid(`${source} holds no secret; set it, or take the setting away`);
  return secret.trim();
}

function credentialPath(name: string, { CREDENTIALS_DIRECTORY: folder }: NodeJS.ProcessEnv): string {
  if (folder) return join(folder, name);
  throw invalid(`credential:${name} needs a unit with LoadCredential=${name}:/path; systemd gave this process no credentials`);
}

function readFile(path: string, isPrivate: boolean): string {
  try {
    const { mode } = statSync(path);
    // systemd makes credentials readable for the service alone, whatever their mode says.
    if (!isPrivate || (mode & READABLE_BY_OTHERS) === 0) return readFileSync(path, 'utf8');
  } catch {
    throw invalid(`The secret in ${path} cannot be read; is it there, and may the user of the hub read it?`);
  }
  throw invalid(`The secret in ${path} can be read by others; run chmod 600 ${JSON.stringify(path)}`);
}

function invalid(message: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', message);
}
