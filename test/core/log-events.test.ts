import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');
/** `module.noun_participle`, such as `storage.database_restored`. */
const FORM = /^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$/;
const LOGGED = /\blogger\s*\.(?:debug|info|warn|error)\(\s*([^,)]+)/gi;
/** What is given to functions that log it, or log and emit it as `hub.warning`. */
const PASSED_ON = /(?:#(?:warn\w*|reportLoss)\(|#report\(fault, |(?<![.\w])warn\(|\bwarning: )([^[,;)}]+)/g;
/** Names of variables that hold what was passed on. */
const VARIABLES: ReadonlySet<string> = new Set(['event', 'warning', 'data.warning']);

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts') && !file.startsWith('web/'));

const literalsOf = (argument: string): readonly string[] => [...argument.matchAll(/'([^']*)'/g)].map(([, text = '']) => text);

/** The events that a text logs; instead of what is no literal, such as a template, its code. */
function eventsIn(text: string): readonly string[] {
  const logged = [...text.matchAll(LOGGED)].flatMap(([, argument = '']) => {
    if (VARIABLES.has(argument)) return [];
    const literals = literalsOf(argument);
    return literals.length > 0 ? literals : [argument];
  });
  return [...logged, ...[...text.matchAll(PASSED_ON)].flatMap(([, argument = '']) => literalsOf(argument))];
}

test('events of the log are a module and what happened to what', () => {
  const events = files.flatMap((file) => eventsIn(readFileSync(join(SRC, file), 'utf8')));
  expect(events.length).toBeGreaterThan(100);
  expect(events.filter((event) => !FORM.test(event))).toEqual([]);
});

test('events of another form are found', () => {
  const found = (text: string) => eventsIn(text).filter((event) => !FORM.test(event)).length;
  expect(found("this.#logger.warn('device tool refused', { tool });")).toBe(1);
  expect(found("logger\n      .error(\n  'file_restored');")).toBe(1);
  expect(found("logger.info(isNew ? 'a.made' : 'found');")).toBe(1);
  expect(
    found("emitWarning(parts, path, { warning: 'snapshot_failed' }); this.#warner('audit_not_synced'); logger.info(prefix + name);"),
  ).toBe(3);
  expect(found("this.#reportLoss(copy ? 'database_restored' : 'database_lost', fault); this.#report(fault, 'kept', {});")).toBe(3);
  expect(found("logger.error(warning, data); logger.error('hub.stopped'); this.#report(fault, 'matter.storage_kept', {});")).toBe(0);
});
