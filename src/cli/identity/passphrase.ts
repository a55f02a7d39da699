import { type Invocation, type OptionSpec, usage } from '../command.ts';
import { readInput } from '../terminal/text-input.ts';

const SHORTEST = 10;
const OF_ROOT_KEY = 'Passphrase of the root key: ';

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

/** The same, or what the person at the terminal types. VALIDATION_ERROR where nobody can be asked. */
export async function requirePassphrase(call: Invocation, question = OF_ROOT_KEY): Promise<string> {
  return (await givenPassphrase(call)) ?? asked(call, question);
}

/** One for a key that is made now: typed twice at the terminal. VALIDATION_ERROR when it is short, which no later command can mend. */
export async function newPassphrase(call: Invocation, question = OF_ROOT_KEY): Promise<string> {
  const given = await givenPassphrase(call);
  const passphrase = given ?? (await asked(call, question));
  if (passphrase.length < SHORTEST)
    throw usage(`The passphrase is too short: take at least ${SHORTEST} characters, such as five words that nobody guesses`);
  if (given === undefined && (await call.io.askSecret?.('The same again: ')) !== passphrase)
    throw usage('The two passphrases differ; nothing was done');
  return passphrase;
}

async function asked(call: Invocation, question: string): Promise<string> {
  const text = await call.io.askSecret?.(question);
  if (text !== undefined && text !== '') return text;
  throw usage('A passphrase is needed: set ATMO_PASSPHRASE, give --passphrase-file FILE, or run this at a terminal');
}
