import type { Command } from '../command.ts';
import { objectsIn } from '../json-list.ts';
import { ageText, textTable } from '../text-table.ts';
import { readingText, stateCell } from './devices.ts';

export const sensors: Command = {
  name: 'sensors',
  summary: 'every sensor with its value, unit and age',
  examples: ['sensors', 'sensors --area kitchen', 'sensors --kind temperature'],
  options: {
    device: { value: 'DEVICE', help: 'only sensors of this device' },
    kind: { value: 'KIND', help: 'only this kind, such as temperature' },
    area: { value: 'AREA', help: 'only sensors in this area' },
  },
  async run(call) {
    const answer = await call.hub.get('/api/v1/sensors', { device: call.text('device'), kind: call.text('kind'), area: call.text('area') });
    call.output.answer(answer, () =>
      textTable(
        ['SENSOR', 'VALUE', 'AGE', 'AREA', 'DEVICE IS'],
        objectsIn(answer, 'sensors').map((reading) => [
          reading.id,
          readingText(reading),
          ageText(reading.age_ms),
          reading.area,
          stateCell(reading.reachability),
        ]),
      ),
    );
    return undefined;
  },
};
