import { AtmoError } from '../../core/errors.ts';

/** Signs that mean something to a shell, outside of quotes. */
const OF_A_SHELL = /[|&;<>()$`\\*?[\]#~!{}\n\r]/;
const PIECE = /'([^']*)'|"([^"$`\\]*)"|([^\s'"]+)|([ \t]+)|(.)/gsu;

/**
 * The arguments of a command line, with plain words and both kinds of quotes (POSIX, 2.2 quoting). There is no shell behind it:
 * VALIDATION_ERROR for everything that only a shell could do, such as pipes, variables and wildcards.
 */
export function parseCommandLine(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [, single, double, plain, space, other] of line.matchAll(PIECE)) {
    if (other !== undefined) throw refusal(`${JSON.stringify(other)} opens or ends nothing that can be run`);
    if (plain !== undefined && OF_A_SHELL.test(plain)) throw refusal(`${JSON.stringify(plain)} means something to a shell only`);
    if (space === undefined) word = (word ?? '') + (single ?? double ?? plain ?? '');
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  if (words.length > 0) return words;
  throw refusal('it is empty');
}

function refusal(problem: string): AtmoError {
  return new AtmoError(
    'VALIDATION_ERROR',
    `The command line cannot be run, since there is no shell: ${problem}; put it into single quotes`,
  );
}
