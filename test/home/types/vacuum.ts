import { RvcCleanModeServer } from '@matter/main/behaviors/rvc-clean-mode';
import { RvcOperationalStateServer } from '@matter/main/behaviors/rvc-operational-state';
import { RvcRunModeServer } from '@matter/main/behaviors/rvc-run-mode';
import { ServiceAreaServer } from '@matter/main/behaviors/service-area';
import type { ModeBase } from '@matter/main/clusters/mode-base';
import { RvcOperationalState } from '@matter/main/clusters/rvc-operational-state';
import { RoboticVacuumCleanerDevice } from '@matter/main/devices/robotic-vacuum-cleaner';
import type { DeviceType } from '../part.ts';

const { OperationalState: State, ErrorState } = RvcOperationalState;
const IDLE = 0;
const CLEANING = 1;
const MAPPING = 2;
/** ChangeToModeResponse status of Matter Application Clusters 1.10.7.2. */
const INVALID_IN_MODE = 3;
const AT_HOME: readonly number[] = [State.Docked, State.Charging, State.Stopped];

/** Cleans, pauses and goes home; refuses what its state does not allow. */
class RobotState extends RvcOperationalStateServer {
  override pause(): RvcOperationalState.OperationalCommandResponse {
    return this.change([State.Running, State.SeekingCharger, State.Paused], State.Paused);
  }

  override resume(): RvcOperationalState.OperationalCommandResponse {
    return this.change([State.Paused, State.Running], State.Running);
  }

  override goHome(): RvcOperationalState.OperationalCommandResponse {
    return this.change([State.Running, State.Paused, State.Stopped, State.SeekingCharger], State.SeekingCharger);
  }

  private change(from: readonly number[], to: RvcOperationalState.OperationalState): RvcOperationalState.OperationalCommandResponse {
    const isAllowed = from.includes(this.state.operationalState);
    if (isAllowed) this.state.operationalState = to;
    return { commandResponseState: { errorStateId: isAllowed ? ErrorState.NoError : ErrorState.CommandInvalidInState } };
  }
}

/** Changing the mode sets the robot in motion or sends it home, as its owner would see. */
class RobotRunMode extends RvcRunModeServer {
  override async changeToMode(request: ModeBase.ChangeToModeRequest): Promise<ModeBase.ChangeToModeResponse> {
    const robot = this.agent.get(RobotState).state;
    const leavesHome = this.state.currentMode === IDLE || request.newMode === IDLE;
    if (!leavesHome && request.newMode !== this.state.currentMode) {
      return { status: INVALID_IN_MODE, statusText: 'Stop first' };
    }
    const answer = await super.changeToMode(request);
    if (answer.status !== 0) return answer;
    if (request.newMode !== IDLE) robot.operationalState = State.Running;
    else if (!AT_HOME.includes(robot.operationalState)) robot.operationalState = State.SeekingCharger;
    return answer;
  }
}

const setup = (areaId: number, locationName: string): object => ({
  areaId,
  mapId: 0,
  areaInfo: { locationInfo: { locationName, floorNumber: 0, areaType: null }, landmarkInfo: null },
});

const STATES = [State.Stopped, State.Running, State.Paused, State.Error, State.SeekingCharger, State.Charging, State.Docked];

export const ROBOT_VACUUM: DeviceType = {
  parts: [
    {
      id: 'robot',
      type: RoboticVacuumCleanerDevice.with(RobotRunMode, RvcCleanModeServer, RobotState, ServiceAreaServer.with('Maps')),
      state: {
        rvcRunMode: {
          supportedModes: [
            { label: 'Idle', mode: IDLE, modeTags: [{ value: 0x4000 }] },
            { label: 'Cleaning', mode: CLEANING, modeTags: [{ value: 0x4001 }] },
            { label: 'Mapping', mode: MAPPING, modeTags: [{ value: 0x4002 }] },
          ],
          currentMode: IDLE,
        },
        rvcCleanMode: {
          supportedModes: [
            { label: 'Vacuum', mode: 0, modeTags: [{ value: 0x4001 }] },
            { label: 'Mop', mode: 1, modeTags: [{ value: 0x4002 }] },
            { label: 'Quiet vacuum', mode: 2, modeTags: [{ value: 0x4001 }, { value: 2 }] },
          ],
          currentMode: 0,
        },
        rvcOperationalState: {
          phaseList: null,
          currentPhase: null,
          operationalStateList: STATES.map((operationalStateId) => ({ operationalStateId })),
          operationalState: State.Docked,
          operationalError: { errorStateId: ErrorState.NoError },
        },
        serviceArea: {
          supportedMaps: [{ mapId: 0, name: 'Ground floor' }],
          supportedAreas: [setup(1, 'Kitchen'), setup(2, 'Living room'), setup(3, 'Hall')],
          selectedAreas: [],
          currentArea: null,
        },
      },
    },
  ],
};
