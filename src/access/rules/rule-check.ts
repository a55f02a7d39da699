import { readFileSync, statSync } from 'node:fs';
import type { KnownNames, RuleCheck } from '../../core/access/rules.ts';
import { AtmoError } from '../../core/errors.ts';
import { compileRules } from './rule-compiler.ts';
import { lintRules } from './rule-lint.ts';
import { WRITABLE_BY_OTHERS } from './rule-source.ts';

/** Checks a rules file without a hub; with the names that a hub knows, those in the rules too. NOT_FOUND when it cannot be read. */
export function checkRulesFile(file: string, known?: KnownNames): RuleCheck {
  const text = readText(file);
  try {
    const { set, warnings } = compileRules(text, file);
    return { file, count: set.rules.length, warnings: [...openness(file), ...warnings, ...(known ? lintRules(set.rules, known) : [])] };
  } catch (error) {
    if (!(error instanceof AtmoError) || error.code !== 'CONFIG_INVALID') throw error;
    return { file, count: 0, problem: error.message, warnings: [] };
  }
}

/** The hub takes no file that others can write; a draft elsewhere may be as it is. */
function openness(file: string): RuleCheck['warnings'] {
  if ((statSync(file).mode & WRITABLE_BY_OTHERS) === 0) return [];
  return [{ line: 1, message: `others than its owner can write this file, and the hub refuses it so; run chmod go-w ${file}` }];
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new AtmoError('NOT_FOUND', `The rules file ${file} cannot be read; name another: atmo rules check FILE`, { file }, { cause });
  }
}
