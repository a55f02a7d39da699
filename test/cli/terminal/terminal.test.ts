import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HUB_PROGRAM } from '../../../src/cli/command-table.ts';
import { heading, paragraph, StyledText } from '../../../src/cli/terminal/blocks.ts';
import { Output } from '../../../src/cli/terminal/output.ts';
import { textPairs, textTable } from '../../../src/cli/terminal/text-table.ts';
import { cutText, padText, textWidth, wrapText } from '../../../src/cli/terminal/text-width.ts';
import { AtmoError } from '../../../src/core/errors.ts';

interface Screen {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly isPiped?: true;
}

/** An output on a terminal, what it shows, and the hand that moves its spinner. */
function makeScreen({ columns = 80, env = {}, isPiped }: Screen = {}) {
  const shown = { out: '', err: '' };
  let tick = () => {};
  const sink = (name: 'out' | 'err') => ({ write: (text: string) => (shown[name] += text), isTTY: !isPiped, columns });
  const every = (_ms: number, run: () => void) => {
    tick = run;
    return () => (tick = () => {});
  };
  const output = new Output({ stdout: sink('out'), stderr: sink('err'), env, every }, { isJson: false, advice: HUB_PROGRAM.advice });
  return { output, shown, tick: (count: number) => Array.from({ length: count }, () => tick()) };
}

describe('the width of text', () => {
  test.each([
    ['lamp', 4],
    ['Küche', 5],
    ['Ku\u0308che', 5],
    ['台所ランプ', 10],
    ['거실', 4],
    ['👩‍🍳 ok', 5],
    ['❤️', 2],
    ['🇩🇪', 2],
    ['a\u200bb', 2],
    ['שלום', 4],
    ['', 0],
  ])('of %j is %i columns', (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  test('a cut text ends in … and splits no character', () => {
    expect([cutText('lamp', 4), cutText('lamps', 4), cutText('台所ランプ', 6), cutText('a👩‍🍳b', 3), cutText('x', 0)]).toEqual([
      'lamp',
      'lam…',
      '台所…',
      'a…',
      '',
    ]);
    expect(padText('台所', 6)).toBe('台所  ');
  });

  test('every cut or wrapped text fits, and wrapping loses no letter', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 4, max: 40 }), (text, columns) => {
        expect(textWidth(cutText(text, columns))).toBeLessThanOrEqual(columns);
        const lines = wrapText(text, columns);
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
        expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
      }),
    );
  });
});

/** What the colours of a heading are written with. */
const COLOUR = new RegExp(`${'\u001b'}\\[\\d+m`, 'g');
const CLEARED = '\r\u001b[2K';
const LONG = 'a description that goes on and on until no terminal of the usual width can hold it in one line';

describe('a table', () => {
  const table = textTable(
    ['ID', 'NAME', 'WHAT'],
    [
      ['kitchen-lamp', '台所ランプ', LONG],
      ['hall', new StyledText('away', 'bad'), 'x'],
    ],
  );

  test.each([40, 60, 80, 120])('fits a terminal of %i columns, the id whole', (columns) => {
    const { output, shown } = makeScreen({ columns });
    output.answer({}, () => table);
    const lines = shown.out.replaceAll(COLOUR, '').trimEnd().split('\n');
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    expect(lines[1]).toMatch(columns < 110 ? /^kitchen-lamp .*…$/ : /one line$/);
  });

  test('leaves out empty columns on a terminal', () => {
    const sparse = textTable(['A', 'HUB', 'B'], [['x', '', 'y']]);
    const { output, shown } = makeScreen({ env: { NO_COLOR: '1' } });
    output.answer({}, () => sparse);
    expect(shown.out).toBe('A  B\nx  y\n');
    expect(String(sparse)).toBe('A  HUB  B\nx       y\n');
  });

  test('columns are aligned whatever letters are in them', () => {
    const lines = String(table).split('\n');
    const at = (line = '', text: string) => textWidth(line.slice(0, line.indexOf(text)));
    expect(at(lines[1], LONG)).toBe(at(lines[0], 'WHAT'));
    expect(at(lines[2], 'x')).toBe(at(lines[0], 'WHAT'));
  });

  test('is whole and without colours in a pipe', () => {
    const { output, shown } = makeScreen({ isPiped: true, columns: 40 });
    output.answer({}, () => table);
    expect(shown.out).toContain(LONG);
    expect(shown.out).not.toContain('\u001b');
  });

  test('a device with the name of a colour is not coloured', () => {
    const { output, shown } = makeScreen({ columns: 60 });
    output.answer({}, () => [
      textTable(['N'], [['\u001b[31mred\u202e']]),
      textPairs({ n: '\u001b[8mhidden' }),
      '\u001b[2J',
      heading('\u001b[1m'),
    ]);
    expect(shown.out.replaceAll(COLOUR, '')).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
  });

  test('pairs and paragraphs wrap under themselves', () => {
    const { output, shown } = makeScreen({ columns: 40, env: { NO_COLOR: '1' } });
    output.answer({}, () => [textPairs({ does: LONG }), paragraph(LONG, { indent: 4 })]);
    const lines = shown.out.trimEnd().split('\n');
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(40);
    expect(lines[1]).toMatch(/^ {6}\S/);
    expect(lines.at(-1)).toMatch(/^ {4}\S/);
  });
});

describe('colours', () => {
  const show = (screen: Screen) => {
    const { output, shown } = makeScreen(screen);
    output.answer({}, () => new StyledText('fine', 'good'));
    output.fail(new AtmoError('CONFLICT', 'No'));
    return shown.out.includes('\u001b[32mfine') && shown.err.includes('\u001b[31mCONFLICT');
  };

  test.each([
    [{}, true],
    [{ isPiped: true }, false],
    [{ env: { NO_COLOR: '1' } }, false],
    [{ env: { NO_COLOR: '' } }, true],
    [{ env: { TERM: 'dumb' } }, false],
    [{ env: { FORCE_COLOR: '1' }, isPiped: true }, true],
    [{ env: { FORCE_COLOR: '' }, isPiped: true }, true],
    [{ env: { FORCE_COLOR: '0' } }, false],
    [{ env: { FORCE_COLOR: '1', NO_COLOR: '1' }, isPiped: true }, false],
  ] as const)('on %j: %s', (screen, isColoured) => {
    expect(show(screen)).toBe(isColoured);
  });
});

describe('work that takes long', () => {
  test('shows a spinner, and removes it at the end', async () => {
    const { output, shown, tick } = makeScreen({ columns: 30 });
    await output.during('Calling a tool with a rather long name', async () => tick(25));
    expect(shown.err).toContain('⠸ Calling a tool with… (2 s)');
    expect(shown.err.endsWith(CLEARED)).toBe(true);
    expect(shown.out).toBe('');
  });

  test('that ends soon shows nothing', async () => {
    const { output, shown, tick } = makeScreen();
    await output.during('Calling', async () => tick(2));
    expect(shown.err).toBe('');
  });

  test('prints each step in a line that stays, beside the spinner', async () => {
    const { output, shown, tick } = makeScreen();
    await output.during('Commissioning', async ({ step }) => {
      tick(15);
      step(' 40 % pase: talking\u001b[2J');
      tick(1);
    });
    expect(shown.err).toContain('⠴ Commissioning (1 s)');
    expect(shown.err).toContain('\r\u001b[2K 40 % pase: talking\\u001b[2J\n');
    expect(shown.err).toContain('40 % pase');
    expect(shown.err).not.toContain('\u001b[2J');
  });

  test.each([{ isPiped: true } as const, { env: { TERM: 'dumb' } }])(
    'prints only the steps where no spinner can be shown: %j',
    async (screen) => {
      const { output, shown, tick } = makeScreen(screen);
      await output.during('Commissioning', async ({ step }) => {
        tick(15);
        step('one');
      });
      expect(shown.err).toBe('one\n');
    },
  );

  test('that fails removes its spinner too', async () => {
    const { output, shown, tick } = makeScreen();
    const failing = output.during('Calling', async () => {
      tick(9);
      throw new AtmoError('CONFLICT', 'No');
    });
    await expect(failing).rejects.toThrow('No');
    expect(shown.err.endsWith(CLEARED)).toBe(true);
  });
});
