import { type Block, heading, type Paper } from '../terminal/page.ts';
import { cellText } from '../terminal/text-table.ts';
import { padText, textWidth, wrapText } from '../terminal/text-width.ts';
import type { CheckResult, CheckSection } from './check-result.ts';

const SIGNS = { ok: ['✓', 'good'], warning: ['!', 'warning'], failed: ['✗', 'bad'] } as const;
const LEAST_COLUMNS = 24;

/** The findings for people: what was found, and below each one that is not well what to do. */
export function checkPage(sections: readonly CheckSection[]): readonly Block[] {
  const all = sections.flatMap(({ checks }) => checks);
  const width = Math.max(...all.map(({ check }) => textWidth(check)));
  const shown = sections.filter(({ checks }) => checks.length > 0);
  return [...shown.flatMap(({ title, checks }) => [heading(title), ...checks.map((check) => checkBlock(check, width))]), verdict(all)];
}

function checkBlock({ check, state, found, advice }: CheckResult, width: number): Block {
  const [sign, tone] = SIGNS[state];
  return {
    render(paper) {
      const first = `  ${paper.ink(sign, tone)} ${padText(check, width)}  ${indented(cellText(found), width + 6, paper)}\n`;
      if (state === 'ok' || advice === undefined) return first;
      return `${first}${' '.repeat(width + 6)}${paper.ink('→', tone)} ${indented(cellText(advice), width + 8, paper)}\n`;
    },
  };
}

function indented(text: string, columns: number, paper: Paper): string {
  if (paper.columns === undefined) return text;
  return wrapText(text, Math.max(LEAST_COLUMNS, paper.columns - columns)).join(`\n${' '.repeat(columns)}`);
}

function verdict(all: readonly CheckResult[]): Block {
  const failed = all.filter(({ state }) => state === 'failed').length;
  const warnings = all.filter(({ state }) => state === 'warning').length;
  const text =
    failed + warnings === 0 ? 'All is well.' : `${failed} failed, ${warnings} to look at, ${all.length - failed - warnings} well.`;
  const tone = failed > 0 ? 'bad' : warnings > 0 ? 'warning' : 'good';
  return { render: ({ ink }) => `\n${ink(text, tone)}\n` };
}
