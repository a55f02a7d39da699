import { isJsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { qrPicture } from '../terminal/qr-picture.ts';

export const share: Command = {
  name: 'device share',
  summary: 'open a device for another controller and show the QR code to scan there',
  examples: ['device share living-room-lamp', 'device share living-room-lamp --close'],
  operands: [{ name: 'DEVICE', help: 'device id or unique name' }],
  options: { seconds: { value: 'N', help: 'how long it stays open: 180 to 900, 300 by default' }, close: { help: 'close it again' } },
  async run(call) {
    const device = call.operand(0);
    if (call.isSet('close')) {
      const closed = await call.hub.call('hub:close_share', { device_id: device });
      call.output.answer(closed, () => `${device} is closed again\n`);
      return undefined;
    }
    const answer = await call.hub.call('hub:share_device', { device_id: device, seconds: call.integer('seconds') ?? 300 });
    const code = isJsonObject(answer) ? answer : {};
    const qrText = String(code.qr_code);
    const picture = call.output.isJson ? '' : await qrPicture(qrText);
    call.output.answer(code, () => [
      picture,
      `\nQR code      ${qrText}\nManual code  ${code.manual_code}\nOpen until   ${code.expires_at}\n`,
    ]);
    return undefined;
  },
};
