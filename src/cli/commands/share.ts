import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { systemCode, toAtmoError } from '../../core/errors.ts';
import { asUser } from '../../core/files/owner-rights.ts';
import { type Json, type JsonObject, objectOf, objectsOf, present } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { type Block, heading, qrBlock } from '../terminal/blocks.ts';
import type { TypedLine } from '../terminal/line-prompt.ts';
import { cellText } from '../terminal/text-table.ts';
import { type LoginUser, loginUser } from './login.ts';

/** Seconds for which one device stays open, and for which each of many does: another app needs about a minute for each. */
const SECONDS = { one: 300, many: 900 };

export const share: Command = {
  name: 'device share',
  summary: 'open a device, the bridge that it is behind, or all of them for another controller and show the QR codes to scan there',
  examples: [
    'device share living-room-lamp',
    'device share living-room-lamp --close',
    'device share --all',
    'device share --all --area Kitchen --sheet kitchen.html',
    'device share --all --dangerous',
  ],
  operands: [{ name: 'DEVICE', help: 'device id or unique name', isOptional: true }],
  options: {
    seconds: { value: 'N', help: 'how long it stays open: 180 to 900, 300 by default, 900 for many at once' },
    close: { help: 'end the pairing before its time' },
    all: { help: 'every device: in a terminal one after another, each opened when you are ready for it; else all at once' },
    area: { value: 'AREA', help: 'with --all: only those in this room' },
    dangerous: { help: 'with --all: also locks, valves and the like, past the approvals and rules of this hub' },
    sheet: {
      value: 'FILE',
      help: 'with --all: open all at once and write their codes into this new page (HTML), to print or to scan from',
    },
  },
  async run(call) {
    if (call.isSet('all')) return shareAll(call);
    if (call.text('area') !== undefined || call.text('sheet') !== undefined || call.isSet('dangerous'))
      throw usage('--area, --dangerous and --sheet go with --all');
    const [device] = call.operands;
    if (device === undefined) throw usage('Name a DEVICE, or share them --all');
    if (call.isSet('close')) {
      const closed = await call.hub.call('hub:close_share', { device_id: device });
      const { whole, many } = reachOf(closed, device);
      call.output.answer(closed, () => `Pairing of ${whole}${many} is closed: no further controller can join\n`);
      return;
    }
    const code = await openOne(call, device);
    const codes = await codesText(code, call.output);
    const { whole, many } = reachOf(code, device);
    call.output.answer(code, () => [
      whole === device && many === '' ? '' : `${device} cannot be shared alone: this opens ${whole}${many}\n\n`,
      ...codes,
    ]);
  },
};

async function openOne(call: Invocation, device: string): Promise<JsonObject> {
  const seconds = call.integer('seconds') ?? SECONDS.one;
  return objectOf(await call.hub.call('hub:share_device', { device_id: device, seconds }));
}

/** Returns the QR code as a picture, and the codes as text. Makes no picture for programs, which read the JSON. */
export async function codesText(code: JsonObject, { isJson }: { readonly isJson: boolean }): Promise<readonly (string | Block)[]> {
  const qrText = String(code.qr_code);
  const picture = isJson ? '' : await qrBlock(qrText);
  return [picture, `\nQR code      ${qrText}\nManual code  ${code.manual_code}\nOpen until   ${code.expires_at}\n`];
}

async function shareAll(call: Invocation): Promise<void> {
  if (call.operands.length > 0 || call.isSet('close')) throw usage('--all takes no DEVICE and no --close; each device closes by itself');
  const file = call.text('sheet');
  if (file !== undefined) return shareOnSheet(call, file);
  if (call.output.isTerminal && (await shareInTurn(call))) return;
  const answer = await openAll(call);
  const blocks = call.output.isJson ? [] : await Promise.all(objectsOf(answer.shared).map(sharedText));
  call.output.answer(answer, () => [...blocks.flat(), ...summary(answer, '')]);
}

async function openAll(call: Invocation): Promise<JsonObject> {
  const params = { ...whichDevices(call), seconds: call.integer('seconds') ?? SECONDS.many };
  return objectOf(await call.output.during('Opening the devices', () => call.hub.call('hub:share_devices', params)));
}

function whichDevices(call: Invocation): JsonObject {
  return present({ area: call.text('area'), dangerous: call.isSet('dangerous') || undefined });
}

/** Opens all devices and writes their codes into a new file. The file is made first: a device whose codes nobody sees must not be open. */
async function shareOnSheet(call: Invocation, file: string): Promise<void> {
  const sheet = makeSheet(file, loginUser(call.io.env));
  try {
    const answer = await openAll(call);
    sheet.write(await sheetOf(objectsOf(answer.shared)));
    call.output.answer(answer, () => summary(answer, `; their codes are in ${file}, which you should delete when they have ended`));
  } catch (thrown) {
    sheet.remove();
    throw thrown;
  }
}

async function sharedText(device: JsonObject): Promise<readonly (string | Block)[]> {
  return [heading(titleOf(device)), ...(await codesText(device, { isJson: false }))];
}

/** Says how many are open and until when, and which are not and why. */
function summary(answer: JsonObject, where: string): readonly string[] {
  const shared = objectsOf(answer.shared);
  const untils = shared.map(({ expires_at: until }) => String(until)).toSorted();
  const open = shared.length === 0 ? 'No device is open\n' : `\n${shared.length} open until ${untils[0]}${where}\n`;
  const failed = objectsOf(answer.failed).map((device) => `${titleOf(device)} is not open: ${cellText(device.message)}\n`);
  return [open, ...failed, ...leftOutText(answer).map((line) => `${line}\n`)];
}

/** Names the locks and other dangerous devices that were left out, if there are any. */
function leftOutText({ left_out: leftOut }: JsonObject): readonly string[] {
  const titles = objectsOf(leftOut).map(titleOf);
  if (titles.length === 0) return [];
  return [
    `Left out, because they can do dangerous things and the approvals and rules of this hub do not apply in the other app: ${titles.join(', ')}. Share each by its name, or give --dangerous`,
  ];
}

function titleOf({ name, area }: JsonObject): string {
  return typeof area === 'string' ? `${cellText(name)} (${cellText(area)})` : cellText(name);
}

const NEXT = 'Enter when the other app has it, s and Enter to stop: ';

/**
 * Opens one device after another, each when the person is ready for it, since a code works for minutes only. Returns false if nobody can
 * answer at a terminal; nothing is open then.
 */
async function shareInTurn(call: Invocation): Promise<boolean> {
  const answer = objectOf(await call.hub.call('hub:list_devices_to_share', whichDevices(call)));
  const devices = objectsOf(answer.devices);
  if (devices.length === 0) {
    call.output.line(null, ['No device is open', ...leftOutText(answer)].join('\n'));
    return true;
  }
  const begin = await call.io.askLine(`${devices.length} devices, one after another. Have the other app ready to scan, then Enter: `);
  if (begin === undefined) return false;
  const { opened, failed } = isStop(begin) ? { opened: 0, failed: [] } : await openInTurn(call, devices);
  const rest = devices.length - opened - failed.length;
  const stopped = rest > 0 ? `; you stopped before the other ${rest}` : '';
  const lines = [`${opened} of ${devices.length} devices were opened${stopped}`, ...failed, ...leftOutText(answer)];
  call.output.line(null, lines.join('\n'));
  return true;
}

interface TurnResult {
  readonly opened: number;
  /** A sentence for each device that could not be opened. */
  readonly failed: readonly string[];
}

async function openInTurn(call: Invocation, devices: readonly JsonObject[]): Promise<TurnResult> {
  const failed: string[] = [];
  for (const [index, device] of devices.entries()) {
    const isLast = await openAndWait(call, device, `${index + 1} of ${devices.length}`).catch((thrown: unknown) => {
      if (toAtmoError(thrown).code === 'CANCELLED') throw thrown;
      failed.push(`${titleOf(device)} is not open: ${toAtmoError(thrown).message}`);
      call.output.note(failed.at(-1) ?? '');
      return false;
    });
    if (isLast) return { opened: index + 1 - failed.length, failed };
  }
  return { opened: devices.length - failed.length, failed };
}

/** Opens a device until the person answers. Returns whether the person wants no further device. */
async function openAndWait(call: Invocation, device: JsonObject, position: string): Promise<boolean> {
  const id = String(device.device_id);
  const codes = await codesText(await openOne(call, id), call.output);
  call.output.line(null, [heading(`${position}: ${titleOf(device)}`), ...codes]);
  try {
    return isStop(await call.io.askLine(NEXT));
  } finally {
    // The window closes by itself once another controller has joined; a device that nobody added must not stay open.
    await call.hub.call('hub:close_share', { device_id: id }).catch(() => undefined);
  }
}

function isStop(typed: TypedLine | undefined): boolean {
  return typed === undefined || typed === 'end_of_input' || typed.line.trim().toLowerCase().startsWith('s');
}

interface Sheet {
  write(page: string): void;
  remove(): void;
}

/** Makes an empty file that only its owner can read. Under sudo, the owner is the user who ran sudo, who opens it in a browser. */
function makeSheet(file: string, user: LoginUser): Sheet {
  try {
    const made = asUser(user.ids, () => openSync(file, 'wx', 0o600));
    return {
      write: (page) => {
        writeFileSync(made, page);
        closeSync(made);
      },
      remove: () => asUser(user.ids, () => rmSync(file, { force: true })),
    };
  } catch (error) {
    throw usage(`${file} cannot be written (${systemCode(error)}); name a file that does not exist yet. No device was opened`);
  }
}

async function sheetOf(shared: readonly JsonObject[]): Promise<string> {
  const cards = await Promise.all(shared.map(sheetCard));
  return SHEET.replace('CARDS', () => cards.join('\n'));
}

const SHEET = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Codes of the devices</title>
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>
body { font: 14px/1.4 sans-serif; margin: 1em; color: #000; background: #fff; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(13em, 1fr)); gap: 1em; }
section { border: 1px solid #888; border-radius: 6px; padding: 0.8em; text-align: center; break-inside: avoid; }
svg { width: 11em; height: 11em; }
h2 { font-size: 1.1em; margin: 0; overflow-wrap: anywhere; }
p { margin: 0.2em 0; }
</style></head><body>
<p>Whoever has these codes can add the devices. Each works until the time below it; keep this page to yourself and delete it afterwards.</p>
<main>
CARDS
</main></body></html>
`;

async function sheetCard({ name, area, qr_code: qrCode, manual_code: manual, expires_at: until }: JsonObject): Promise<string> {
  const { default: encodeQR } = await import('qr');
  const room = typeof area === 'string' ? `<p>${escapeHtml(area)}</p>` : '';
  const time = new Date(String(until)).toLocaleString();
  return `<section><h2>${escapeHtml(String(name))}</h2>${room}${encodeQR(String(qrCode), 'svg', { border: 4 })}<p><strong>${escapeHtml(manualDigits(String(manual)))}</strong></p><p>until ${escapeHtml(time)}</p></section>`;
}

/** Returns a manual code in the groups in which people read it (Core §5.1.4.1): 3497-011-2332. */
function manualDigits(code: string): string {
  return /^\d{11}$/.test(code) ? `${code.slice(0, 4)}-${code.slice(4, 7)}-${code.slice(7)}` : code;
}

const HTML_ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => HTML_ESCAPES[character] ?? character);
}

/** Returns what a pairing window opens. `whole` is the id of the device or bridge. `many` says how many devices `whole` has, if several. */
function reachOf(answer: Json, device: string): { readonly whole: string; readonly many: string } {
  const { opened, devices } = objectOf(answer);
  return {
    whole: typeof opened === 'string' ? opened : device,
    many: typeof devices === 'number' && devices > 1 ? ` with all its ${devices} devices` : '',
  };
}
