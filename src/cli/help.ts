import { COMMON_OPTIONS } from './arguments.ts';
import type { Command, OperandSpec } from './command.ts';
import { type Block, heading, type Printable, paragraph } from './terminal/page.ts';
import { padText, textWidth, wrapText } from './terminal/text-width.ts';

/** Commands about one thing, under its title. */
export interface CommandSection {
  readonly title: string;
  readonly commands: readonly Command[];
}

const EPILOGUE = [
  'Every command takes --json and --help; "atmo help COMMAND" shows examples. Exit codes: 0 success, 2 wrong usage, 3 refused, 4 a tool or device failed, 5 no hub answers, 1 otherwise.',
  'The hub is found by ATMO_URL (http://127.0.0.1:8081), the token by ATMO_TOKEN, else your login (atmo login), else the owner.token file of the state directory (ATMO_STATE_DIR).',
];
const LEAST_COLUMNS = 24;

/** The help of the whole CLI, made from its commands. */
export function overview(sections: readonly CommandSection[]): Printable {
  const width = Math.max(...sections.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  return [
    'atmo: commissions Matter devices and calls their tools by name\n',
    ...sections.flatMap(({ title, commands }) => [
      heading(title),
      entries(
        commands.map(({ name, summary }) => [name, summary]),
        width,
      ),
    ]),
    ...EPILOGUE.flatMap((text) => ['\n', paragraph(text)]),
  ];
}

/** The help of one command. */
export function commandHelp(command: Command): readonly (string | Block)[] {
  const operands = (command.operands ?? []).map((operand) => [operandText(operand), operand.help] as const);
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(
    ([name, spec]) => [`--${name}${'value' in spec ? ` ${spec.value}` : ''}`, spec.help] as const,
  );
  const examples = command.examples ?? [];
  return [
    `atmo ${usageOf(command)}${command.options ? ' [options]' : ''}\n\n`,
    paragraph(command.summary),
    '\n',
    entries([...operands, ...options], Math.max(...[...operands, ...options].map(([left]) => left.length))),
    ...(examples.length > 0 ? [heading('Examples'), ...examples.map((example) => `  atmo ${example}\n`)] : []),
  ];
}

/** What a command line has to look like, without options. */
export function usageOf(command: Command): string {
  return [command.name, ...(command.operands ?? []).map(operandText)].join(' ');
}

function operandText({ name, isOptional, isRepeated }: OperandSpec): string {
  const text = isRepeated ? `${name} …` : name;
  return isOptional ? `[${text}]` : text;
}

/** Words with what they mean beside them; on a terminal the meaning wraps under itself. */
function entries(rows: readonly (readonly [word: string, meaning: string])[], width: number): Block {
  return {
    render: ({ columns, ink }) =>
      rows
        .map(([word, meaning]) => {
          const lines = columns === undefined ? [meaning] : wrapText(meaning, Math.max(LEAST_COLUMNS, columns - width - 4));
          const indent = `\n${' '.repeat(width + 4)}`;
          return `  ${ink(word, 'strong')}${padText('', width - textWidth(word))}  ${lines.join(indent)}\n`;
        })
        .join(''),
  };
}
