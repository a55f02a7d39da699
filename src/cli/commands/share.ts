import { isJsonObject, type Json } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { qrPicture } from '../terminal/qr-picture.ts';

export const share: Command = {
  name: 'device share',
  summary: 'open a device, or the bridge that it is behind, for another controller and show the QR code to scan there',
  examples: ['device share living-room-lamp', 'device share living-room-lamp --close'],
  operands: [{ name: 'DEVICE', help: 'device id or unique name' }],
  options: {
    seconds: { value: 'N', help: 'how long it stays open: 180 to 900, 300 by default' },
    close: { help: 'end the pairing before its time' },
  },
  async run(call) {
    const device = call.operand(0);
    if (call.isSet('close')) {
      const closed = await call.hub.call('hub:close_share', { device_id: device });
      const { whole, many } = reachOf(closed, device);
      call.output.answer(closed, () => `Pairing of ${whole}${many} is closed: no further controller can join\n`);
      return undefined;
    }
    const answer = await call.hub.call('hub:share_device', { device_id: device, seconds: call.integer('seconds') ?? 300 });
    const code = isJsonObject(answer) ? answer : {};
    const qrText = String(code.qr_code);
    const picture = call.output.isJson ? '' : await qrPicture(qrText);
    const { whole, many } = reachOf(code, device);
    call.output.answer(code, () => [
      whole === device && many === '' ? '' : `${device} cannot be shared alone: this opens ${whole}${many}\n\n`,
      picture,
      `\nQR code      ${qrText}\nManual code  ${code.manual_code}\nOpen until   ${code.expires_at}\n`,
    ]);
    return undefined;
  },
};

/** What is open or closed as a whole, and how many devices that are where there are several. */
function reachOf(answer: Json, device: string): { readonly whole: string; readonly many: string } {
  const { opened, devices } = isJsonObject(answer) ? answer : {};
  return {
    whole: typeof opened === 'string' ? opened : device,
    many: typeof devices === 'number' && devices > 1 ? ` with all its ${devices} devices` : '',
  };
}
