import { existsSync } from 'node:fs';
import { AtmoError } from '../../core/errors.ts';
import { type Json, objectOf } from '../../core/json.ts';
import type { HubMachineIo } from '../cli-io.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { HubClient } from '../hub/hub-client.ts';
import { newPassphrase, PASSPHRASE_OPTION, requirePassphrase } from '../input.ts';
import type { Block } from '../terminal/blocks.ts';
import { textTable } from '../terminal/text-table.ts';
import { requestCommand, toolCommand } from '../tool-command.ts';

const backup: Command<HubMachineIo> = {
  name: 'backup',
  summary: 'write all that the hub keeps, fabric and keys among it, to one file under a passphrase; the hub may run',
  examples: ['backup /media/usb/home.atmo'],
  operands: [{ name: 'FILE', help: 'new file, readable by you alone; - for stdout' }],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const archive = await call.io.stateArchive();
    const file = call.operand(0);
    const passphrase = await newPassphrase(call, 'Passphrase of the backup: ');
    const report = await archive.backup({
      stateDir: archive.stateDir(),
      file: file === '-' ? undefined : file,
      passphrase,
      askForCopies: () => copiesOf(call),
    });
    const { isOfRunningHub, leftOut, ...facts } = report;
    if (file === '-') return;
    call.output.answer({ file, ...facts, running: isOfRunningHub, left_out: [...leftOut] }, () => [
      `${file} holds ${report.hub}: ${report.files} files, ${size(report.bytes)}. Keep it away from the board, and the passphrase away from it\n`,
      ...leftOut.map(
        (path) => `${path} is not in it, since it may hold secrets and only root may have to read it; copy it to a new board yourself\n`,
      ),
    ]);
  },
};

const restore: Command<HubMachineIo> = {
  name: 'restore',
  summary: 'put a backup in the place of what this machine keeps; the hub must not run here, nor on the board that it comes from',
  examples: ['restore /media/usb/home.atmo'],
  operands: [{ name: 'FILE', help: 'what atmo backup wrote' }],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const archive = await call.io.stateArchive();
    const stateDir = archive.stateDir();
    if (!existsSync(call.operand(0)))
      throw usage(`There is no file ${call.operand(0)}; look at its name, and at the folder that you are in`);
    const passphrase = await requirePassphrase(call, 'Passphrase of the backup: ');
    const { madeAt, outside, ...report } = await archive.restore({ stateDir, file: call.operand(0), passphrase });
    const elsewhere = outside.map(({ path, restoredAs }) => ({ path, restored_as: restoredAs }));
    call.output.answer({ ...report, state_dir: stateDir, made_at: madeAt, outside: elsewhere }, () => [
      `${report.hub} of ${madeAt} is in ${stateDir}: ${report.files} files\n`,
      ...(report.aside === undefined ? [] : [`What was there before is in ${report.aside}; delete it when all works\n`]),
      ...outside.map(({ path, restoredAs }) => `${path} of the other board is in ${restoredAs}; copy it where you want it\n`),
      'Start the hub here, and never again the one that the backup is of: devices and other hubs would hear two of it\n',
    ]);
  },
};

const backups = requestCommand({
  name: 'backups',
  summary: 'the backups that the hub writes by itself: when, how the last one went, which there are',
  examples: ['backups'],
  request: ({ hub }) => hub.call('hub:show_backups', {}),
  text: backupsText,
});

const backupsNow = toolCommand({
  name: 'backups now',
  summary: 'let the hub write a backup into its folder now, under the passphrase of the schedule',
  examples: ['backups now'],
  tool: 'hub:make_backup',
  sentence: ({ file, bytes }) => `${file} is there: ${size(Number(bytes))}`,
});

const backupsSchedule: Command = {
  name: 'backups schedule',
  summary: 'let the hub write a backup every day and keep the newest; without TIME only when somebody asks',
  examples: ['backups schedule 03:30', 'backups schedule 03:30 --keep 14'],
  operands: [{ name: 'TIME', help: 'local time of day, HH:MM', isOptional: true }],
  options: {
    keep: { value: 'NUMBER', help: 'how many backups stay; 7 without it' },
    'new-passphrase': { help: 'take another passphrase from now on; earlier backups keep theirs' },
    ...PASSPHRASE_OPTION,
  },
  async run(call) {
    const [at] = call.operands;
    const keep = call.integer('keep');
    const known = objectOf(await call.hub.call('hub:show_backups', {})).schedule !== undefined;
    const isAsked = !known || call.isSet('new-passphrase') || call.text('passphrase-file') !== undefined;
    const passphrase = isAsked ? await newPassphrase(call, 'Passphrase of the backups: ') : undefined;
    const answer = await call.hub.call('hub:set_backup_schedule', {
      ...(at !== undefined && { at }),
      ...(keep !== undefined && { keep }),
      ...(passphrase !== undefined && { passphrase }),
    });
    call.output.answer(answer, () => backupsText(answer));
  },
};

/** The commands for the backups that a hub writes by itself. */
export const backupCommands: readonly Command[] = [backups, backupsNow, backupsSchedule];

/** The commands that write the state of the hub of this machine into one file, and restore it. */
export const stateCommands: readonly Command<HubMachineIo>[] = [backup, restore];

function backupsText(answer: Json): readonly (string | Block)[] {
  const { schedule, folder, next_at: next, last_success_at: last, problem, on_same_disk: isOnSameDisk } = objectOf(answer);
  const { at, keep } = objectOf(schedule);
  const when = at === undefined ? 'The hub writes no backup by itself' : `Every day at ${at}, the next at ${next}; the newest ${keep} stay`;
  const rows = objectsIn(answer, 'backups').map(({ file, made_at: made, bytes }) => [file, made, size(Number(bytes))]);
  return [
    `${when}\n`,
    `Folder: ${folder}${isOnSameDisk === true ? ' (on the disk of the hub: name another in backup.folder of config.yaml)' : ''}\n`,
    ...(last === undefined ? [] : [`The last one was written at ${last}\n`]),
    ...(typeof problem === 'string' ? [`${problem}\n`] : []),
    ...(rows.length === 0 ? [] : [textTable(['FILE', 'MADE', 'SIZE'], rows)]),
  ];
}

async function copiesOf({ io }: Invocation) {
  const answer = await new HubClient(io, { as: 'owner' }).call('hub:take_snapshots', {});
  const list = objectsIn(answer, 'snapshots');
  if (list.length > 0) return list.map(({ database, copy }) => ({ database: String(database), copy: String(copy) }));
  throw new AtmoError('RESULT_INVALID', 'The hub did not say where its copies are; stop it, then make the backup');
}

function size(bytes: number): string {
  return bytes < 1_048_576 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}
