import { type Json, type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import { type Command, HUB_OPTION } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { Printable } from '../terminal/blocks.ts';
import { textTable } from '../terminal/text-table.ts';
import { toolCommand } from '../tool-command.ts';

const OUTCOMES: Readonly<Record<string, string>> = {
  would_run: 'would run',
  needs_approval: 'would run once people have approved it',
  would_be_refused: 'would be refused',
  not_known: 'is not known here',
};

/** Returns what a call would do: a sentence, a table of the changes, and what stands in its way. */
export function rehearsalText(rehearsal: JsonObject): Printable {
  const { tool, outcome } = rehearsal;
  const changes = objectsIn(rehearsal, 'changes').map((change) => [
    change.device_id,
    change.name,
    withUnit(change.now, change.unit),
    change.unforeseen === true ? 'not known before' : withUnit(change.expected, change.unit),
  ]);
  const table = changes.length === 0 ? [] : [textTable(['DEVICE', 'VALUE', 'NOW', 'AFTERWARDS'], changes)];
  const notes = notesOf(rehearsal).map((note) => `${note}\n`);
  const inner = objectsIn(rehearsal, 'calls').map((call) => rehearsalText(call));
  return [`${String(tool)} ${OUTCOMES[String(outcome)] ?? String(outcome)}\n`, ...notes, ...table, ...inner.flat()];
}

function notesOf(rehearsal: JsonObject): readonly string[] {
  const { error, approval, undo, skipped, conflicts } = rehearsal;
  const { reason } = objectOf(approval);
  const skips = objectsOf(skipped).map((one) => `Left out: ${one.name}: ${one.reason}`);
  const { possible, reason: why } = objectOf(undo);
  const wouldRun = error === undefined;
  return [
    ...(wouldRun ? [] : [`${objectOf(error).code}: ${objectOf(error).message}`]),
    ...(reason === undefined ? [] : [`Approval: ${reason}`]),
    ...skips,
    ...objectsOf(conflicts).map(({ when, sentence }) => `${when === 'not_told' ? 'Also' : 'Soon'}: ${sentence}`),
    ...(wouldRun ? [possible === true ? 'It can be undone' : `It cannot be undone: ${why}`] : []),
  ];
}

function withUnit(value: Json | undefined, unit: Json | undefined): string {
  if (value === undefined || value === null) return 'not known';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof unit === 'string' && unit !== '' ? `${text} ${unit}` : text;
}

const undoCall = toolCommand({
  name: 'undo',
  summary: 'put devices back as they were before a call, a scene, a sequence or a run of an automation',
  tool: 'hub:undo',
  options: HUB_OPTION,
  operands: [{ name: 'TRACE', help: 'trace id, as atmo call and atmo audit tail tell it', param: 'trace_id' }],
  sentence: ({ summary }) => String(summary),
});

/** The command that undoes a trace, or with `--dry-run` rehearses that. */
export const undo: Command = {
  ...undoCall,
  examples: ['undo 4bf92f3577b34da6a3ce929d0e0e4736', 'undo 4bf92f3577b34da6a3ce929d0e0e4736 --dry-run'],
  options: { ...undoCall.options, 'dry-run': { help: 'only tell what would be put back: nothing runs' } },
  async run(call) {
    if (!call.isSet('dry-run')) {
      await undoCall.run(call);
      return;
    }
    const answer = await call.hub.invoke(UNDO_REHEARSAL, { trace_id: call.operand(0) }, { headers: {} });
    call.output.answer(answer, () => rehearsalText(answer));
  },
};

const UNDO_REHEARSAL = `/api/v1/tools/${encodeURIComponent('hub:undo')}/invoke?rehearse=true`;
