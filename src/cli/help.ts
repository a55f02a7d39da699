import { COMMON_OPTIONS } from './arguments.ts';
import type { Command, OperandSpec } from './command.ts';

const EPILOGUE = `Every command takes --json and --help. Exit codes: 0 success, 2 wrong usage, 3 refused, 4 a tool or device failed,
5 no hub answers, 1 otherwise. The hub is found by ATMO_URL (http://127.0.0.1:8081), the token by ATMO_TOKEN, else your
login (atmo login), else the owner.token file of the state directory (ATMO_STATE_DIR).
`;

/** The help of the whole CLI, made from its commands. */
export function overview(commands: readonly Command[]): string {
  const usages = commands.map((command) => ({ text: usageOf(command), summary: command.summary }));
  const width = Math.min(44, Math.max(...usages.map(({ text }) => text.length)));
  const lines = usages.map(({ text, summary }) =>
    text.length > width ? `  ${text}\n  ${' '.repeat(width)}  ${summary}` : `  ${text.padEnd(width)}  ${summary}`,
  );
  return `atmo: commissions Matter devices and calls their tools by name\n\n${lines.join('\n')}\n\n${EPILOGUE}`;
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const operands = (command.operands ?? []).map((operand) => [operandText(operand), operand.help] as const);
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(
    ([name, spec]) => [`--${name}${'value' in spec ? ` ${spec.value}` : ''}`, spec.help] as const,
  );
  const rows = [...operands, ...options];
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
  return `atmo ${usageOf(command)}${command.options ? ' [options]' : ''}\n\n${command.summary}\n\n${lines.join('\n')}\n`;
}

function usageOf(command: Command): string {
  return [command.name, ...(command.operands ?? []).map(operandText)].join(' ');
}

function operandText({ name, isOptional, isRepeated }: OperandSpec): string {
  const text = isRepeated ? `${name} …` : name;
  return isOptional ? `[${text}]` : text;
}
