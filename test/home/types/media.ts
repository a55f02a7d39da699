import { KeypadInputServer } from '@matter/main/behaviors/keypad-input';
import { MediaPlaybackServer } from '@matter/main/behaviors/media-playback';
import { KeypadInput } from '@matter/main/clusters/keypad-input';
import { MediaPlayback } from '@matter/main/clusters/media-playback';
import { BasicVideoPlayerDevice } from '@matter/main/devices/basic-video-player';
import { SpeakerDevice } from '@matter/main/devices/speaker';
import type { DeviceType } from '../part.ts';

const { PlaybackState, Status } = MediaPlayback;

class Player extends MediaPlaybackServer {
  override play(): MediaPlayback.PlaybackResponse {
    return this.change(PlaybackState.Playing);
  }

  override pause(): MediaPlayback.PlaybackResponse {
    return this.change(PlaybackState.Paused);
  }

  override stop(): MediaPlayback.PlaybackResponse {
    return this.change(PlaybackState.NotPlaying);
  }

  private change(to: MediaPlayback.PlaybackState): MediaPlayback.PlaybackResponse {
    this.state.currentState = to;
    return { status: Status.Success };
  }
}

class Keypad extends KeypadInputServer.with('NavigationKeyCodes') {
  override sendKey(): KeypadInput.SendKeyResponse {
    return { status: KeypadInput.Status.Success };
  }
}

export const VIDEO_PLAYER: DeviceType = {
  parts: [
    {
      id: 'player',
      type: BasicVideoPlayerDevice.with(Player, Keypad),
      state: { onOff: { onOff: true }, mediaPlayback: { currentState: PlaybackState.NotPlaying } },
    },
  ],
};

export const SPEAKER: DeviceType = {
  parts: [{ id: 'speaker', type: SpeakerDevice, state: { onOff: { onOff: true }, levelControl: { currentLevel: 127 } } }],
};
