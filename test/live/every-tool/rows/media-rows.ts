import { type DeviceRows, device, does, type Fact } from '../tool-row.ts';
import { switchRows } from './on-off-rows.ts';

const playback = (raw: number): readonly Fact[] => [['player', 'MediaPlayback', 'CurrentState', raw]];

export const MEDIA: readonly DeviceRows[] = [
  device('Television', [
    ...switchRows('television', 'player'),
    does('television_play', {}, { raw: playback(0), state: { playback_state: 'playing' } }),
    does('television_pause_playback', {}, { raw: playback(1), state: { playback_state: 'paused' } }),
    does('television_stop_playback', {}, { raw: playback(2), state: { playback_state: 'not_playing' } }),
    does('television_send_key', { key: 'volume_up' }, { sent: { cluster: 'KeypadInput', command: 'sendKey', fields: { keyCode: 0x41 } } }),
  ]),
  device('Speaker', [
    does('speaker_mute', {}, { raw: [['speaker', 'OnOff', 'OnOff', false]], state: { is_unmuted: false } }),
    does('speaker_unmute', {}, { raw: [['speaker', 'OnOff', 'OnOff', true]], state: { is_unmuted: true } }),
    does(
      'speaker_set_volume',
      { volume: 40 },
      { given: [['speaker', 'OnOff', 'OnOff', false]], raw: [['speaker', 'LevelControl', 'CurrentLevel', 102]], state: { volume: 40 } },
    ),
    does('speaker_adjust_volume', { by: 10 }, { raw: [['speaker', 'LevelControl', 'CurrentLevel', 127]], state: { volume: 50 } }),
  ]),
];
