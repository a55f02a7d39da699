import { expect, test } from 'vitest';
import { eventLine } from '../../../src/cli/commands/events.ts';
import { textWidth } from '../../../src/cli/terminal/text-width.ts';

const READING = {
  type: 'sensor.reading',
  subject: 'hall/temperature',
  time: '2026-05-01T18:30:07.000Z',
  data: { value: 21.5, unit: '°C', kind: 'temperature', at_ms: 5 },
};
const FAILURE = {
  type: 'agi.tool.failed',
  subject: 'matter:dim@1.0.0',
  time: '2026-05-01T18:30:07.000Z',
  data: { tool: 'matter:dim@1.0.0', request_id: 'r', agent_id: 'owner', code: 'CONFLICT', params: { level: 4 } },
};
const marked = (text: string, tone: string) => (tone === 'plain' || tone === 'quiet' ? text : `<${tone}:${text.trim()}>`);
const plain = { columns: undefined, ink: (text: string) => text };

test('an event is one line with its facts in words; programs that read lines get the whole time', () => {
  expect(eventLine(READING).render(plain)).toBe(
    '2026-05-01T18:30:07.000Z  sensor.reading          hall/temperature  21.5 °C kind=temperature',
  );
  expect(eventLine(FAILURE).render(plain)).toMatch(/matter:dim@1\.0\.0 {2}agent_id=owner code=CONFLICT params=\(level=4\)$/);
});

test('a terminal gets the time of day, colours, and a line that fits', () => {
  const line = eventLine(FAILURE).render({ columns: 60, ink: (text) => text });
  expect(line).toMatch(/^\d\d:\d\d:\d\d {2}agi\.tool\.failed/);
  expect(textWidth(line)).toBeLessThanOrEqual(60);
  expect(eventLine(FAILURE).render({ columns: 90, ink: marked })).toContain('<bad:agi.tool.failed>');
  const waits = { ...FAILURE, data: { code: 'APPROVAL_REQUIRED' } };
  expect(eventLine(waits).render({ columns: 90, ink: marked })).toContain('<warning:agi.tool.failed>');
});

test('texts of a device in an event cannot control the terminal, and a malformed event is still printed', () => {
  const hostile = { ...READING, subject: 'a\u001b[2J', data: { text: '\u202e\u0007', deep: { er: '\u001b' } } };
  expect(eventLine(hostile).render(plain)).not.toMatch(/\p{Cc}|\u202e/u);
  expect(eventLine({}).render({ columns: 80, ink: (text) => text })).toMatch(/^- {2}-/);
});
