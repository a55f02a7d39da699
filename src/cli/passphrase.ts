import { type Invocation, type OptionSpec, usage } from './command.ts';
import { readInput } from './text-input.ts';

/** Where a passphrase may stand that is not typed. */
export const PASSPHRASE_OPTION: Readonly<Record<string, OptionSpec>> = {
  'passphrase-file': { value: 'FILE', help: 'file with the passphrase; else ATMO_PASSPHRASE, else you are asked' },
};

/** The passphrase from `--passphrase-file` or ATMO_PASSPHRASE; undefined when it is in neither. */
export async function givenPassphrase(call: Invocation): Promise<string | undefined> {
  const file = call.text('passphrase-file');
  const text = file === undefined ? call.io.env.ATMO_PASSPHRASE : await readInput(`@${file}`, call.io);
  if (file !== undefined && text === '') throw usage(`The file ${file} holds no passphrase`);
  return text === '' ? undefined : text;
}

/** The same, or what the person at the terminal types; `confirm` asks twice. VALIDATION_ERROR where nobody can be asked. */
export async function requirePassphrase(call: Invocation, how: 'once' | 'confirm' = 'once'): Promise<string> {
  const given = await givenPassphrase(call);
  if (given !== undefined) return given;
  const asked = await call.io.askSecret?.('Passphrase of the root key: ');
  if (asked === undefined || asked === '')
    throw usage('A passphrase is needed: set ATMO_PASSPHRASE, give --passphrase-file FILE, or run this at a terminal');
  if (how === 'confirm' && (await call.io.askSecret?.('The same again: ')) !== asked)
    throw usage('The two passphrases differ; nothing was done');
  return asked;
}
