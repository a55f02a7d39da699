import { OperationalStateServer } from '@matter/main/behaviors/operational-state';
import { OperationalState } from '@matter/main/clusters/operational-state';

const { OperationalStateEnum: State, ErrorState } = OperationalState;

/** An appliance that can be started, paused, resumed and stopped; refuses what its state does not allow. */
export class Appliance extends OperationalStateServer {
  override start(): OperationalState.OperationalCommandResponse {
    return this.change([State.Stopped, State.Running], State.Running);
  }

  override pause(): OperationalState.OperationalCommandResponse {
    return this.change([State.Running, State.Paused], State.Paused);
  }

  override resume(): OperationalState.OperationalCommandResponse {
    return this.change([State.Paused, State.Running], State.Running);
  }

  override stop(): OperationalState.OperationalCommandResponse {
    return this.change([State.Stopped, State.Running, State.Paused], State.Stopped);
  }

  private change(from: readonly number[], to: OperationalState.OperationalStateEnum): OperationalState.OperationalCommandResponse {
    if (!from.includes(this.state.operationalState)) return { commandResponseState: { errorStateId: ErrorState.CommandInvalidInState } };
    this.state.operationalState = to;
    return { commandResponseState: { errorStateId: ErrorState.NoError } };
  }
}

/** Stopped, with three phases and half an hour to go. */
export const OPERATIONAL_STATE = {
  phaseList: ['Prepare', 'Main', 'Finish'],
  currentPhase: 0,
  countdownTime: 1800,
  operationalStateList: [State.Stopped, State.Running, State.Paused, State.Error].map((operationalStateId) => ({ operationalStateId })),
  operationalState: State.Stopped,
  operationalError: { errorStateId: ErrorState.NoError },
};
