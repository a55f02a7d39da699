import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { objectsIn } from '../hub/json-list.ts';
import { followJob } from '../job-wait.ts';
import { cellText, textTable } from '../terminal/text-table.ts';

const deviceUpdates: Command = {
  name: 'device updates',
  summary: "which devices have newer software in the hub's folder of images",
  examples: ['device updates'],
  async run(call) {
    const answer = await call.hub.call('hub:list_updates', {});
    const list = isJsonObject(answer) ? answer : {};
    call.output.answer(answer, () => listText(list));
    return undefined;
  },
};

const deviceUpdate: Command = {
  name: 'device update',
  summary: 'install newer software on a device from an image file, and wait until it tells the new version',
  examples: ['device update living-room-lamp', 'device update living-room-lamp --file lamp-1.4.ota'],
  operands: [{ name: 'DEVICE', help: 'device id or unique name' }],
  options: { file: { value: 'FILE', help: "name of an image that 'device updates' lists; the newest that fits when absent" } },
  async run(call) {
    const file = call.text('file');
    const params = { device_id: call.operand(0), ...(file !== undefined && { file }) };
    const started = await call.hub.post('/api/v1/tools/hub%3Aupdate_device/invoke?async=true', params);
    const result = await followJob(call, String(started.job_id), `Updating ${call.operand(0)}`);
    call.output.answer(
      result,
      () => `${cellText(result.device)} went from version ${versionText(result.from)} to ${versionText(result.to)}\n`,
    );
    return undefined;
  },
};

/** Software of devices. */
export const deviceUpdateCommands = [deviceUpdates, deviceUpdate];

function listText(list: JsonObject) {
  const offers = objectsIn(list, 'offers');
  const unfit = objectsIn(list, 'unfit');
  if (offers.length + unfit.length === 0) return `No images; put the *.ota files of your devices into ${cellText(list.folder)}\n`;
  const rows = offers.map(({ device, from, to, file, notes_url: notes }) => [
    device,
    versionText(from),
    versionText(to),
    file,
    notes ?? '',
  ]);
  return [
    offers.length > 0 ? textTable(['DEVICE', 'FROM', 'TO', 'FILE', 'NOTES'], rows) : 'No device has newer software here\n',
    ...(unfit.length === 0
      ? []
      : [
          '\n',
          textTable(
            ['FILE', 'NOT FOR ANY DEVICE, SINCE'],
            unfit.map(({ file, reason }) => [file, reason]),
          ),
        ]),
  ];
}

/** `1.4 (5)`: what the manufacturer calls it, and the number that counts. */
function versionText(version: Json | undefined): string {
  if (!isJsonObject(version)) return '';
  const { number, text } = version;
  return text === '' ? String(number) : `${cellText(text)} (${number})`;
}
