import '../matter-platform.ts';
import { CommissioningError, ControllerCommissioningFlow } from '@matter/main/protocol';
import { orAborted } from '../../core/clock.ts';
import type { CommissionStep } from '../../core/devices/device-administration.ts';

/** The state of a device in its commissioning; decides what the recovery does after an interruption. */
export type CommissionStage =
  /** The device has nothing of ours but a fail-safe timer. */
  | 'intent'
  /** It may hold our fabric until its fail-safe expires. */
  | 'credentials'
  /** CommissioningComplete was sent; whether it arrived is unknown. */
  | 'completing'
  /** It keeps our fabric. */
  | 'commissioned';

/** Is called by the flow; an error that it throws stops the flow. */
interface FlowObserver {
  onStep(step: CommissionStep, note: string): void;
  onStage(stage: CommissionStage): void;
  /** Stops the flow between and within steps, until CommissioningComplete is sent. */
  readonly signal: AbortSignal;
}

interface StepMeaning {
  readonly step: CommissionStep;
  readonly note: string;
  /** Stages before and after the step. */
  readonly before?: CommissionStage;
  readonly after?: CommissionStage;
}

/** Steps of matter.js (numbers of Core §5.5) as steps of the hub. */
const MEANINGS: Readonly<Record<string, StepMeaning>> = {
  '0.1': { step: 'connect', note: 'reading what the device is' },
  '7.1': { step: 'connect', note: 'starting the fail-safe timer' },
  '8.1': { step: 'connect', note: 'setting the region' },
  '8.2': { step: 'connect', note: 'setting the time' },
  '10.1': { step: 'attest', note: 'checking who made the device' },
  '11.1': { step: 'attest', note: 'giving the device an identity in this home', before: 'credentials' },
  '15.1': { step: 'attest', note: 'giving this hub control' },
  '16.1': { step: 'network', note: 'checking the network credentials' },
  '16.2': { step: 'network', note: 'joining the Wi-Fi network' },
  '16.3': { step: 'network', note: 'joining the Thread network' },
  '18.1': { step: 'join', note: 'finding the device on the network' },
  '20.1': { step: 'join', note: 'finishing', before: 'completing', after: 'commissioned' },
  '98.1': { step: 'interview', note: 'naming the home on the device' },
};

/** The commissioning flow of matter.js, which calls `observer` before each step. */
export function observedFlow(observer: FlowObserver): typeof ControllerCommissioningFlow {
  return class extends ControllerCommissioningFlow {
    constructor(...options: ConstructorParameters<typeof ControllerCommissioningFlow>) {
      super(...options);
      for (const step of this.commissioningSteps) {
        const run = step.stepLogic;
        const meaning = MEANINGS[`${step.stepNumber}.${step.subStepNumber}`];
        if (meaning !== undefined) step.stepLogic = () => observe(observer, meaning, run);
      }
    }
  };
}

async function observe<Result>(observer: FlowObserver, meaning: StepMeaning, run: () => Promise<Result>): Promise<Result> {
  const { signal } = observer;
  if (signal.aborted) throw stopped(signal);
  observer.onStep(meaning.step, meaning.note);
  if (meaning.before !== undefined) reachStage(observer, meaning.before);
  // From here on the device may keep our fabric: to stop would only lose the device.
  const isInterruptible = meaning.before !== 'completing' && meaning.step !== 'interview';
  const work = run();
  const result = await (isInterruptible ? orAborted(work, signal) : work).catch((error: unknown) => {
    throw isInterruptible && signal.aborted && error === signal.reason ? stopped(signal) : error;
  });
  if (meaning.after !== undefined) reachStage(observer, meaning.after);
  return result;
}

/** Only after a CommissioningError matter.js ends the fail-safe, so that the device can be tried again at once. */
function reachStage(observer: FlowObserver, stage: CommissionStage): void {
  try {
    observer.onStage(stage);
  } catch (cause) {
    throw new CommissioningError('The commissioning journal could not be written', { cause });
  }
}

function stopped(signal: AbortSignal): CommissioningError {
  return new CommissioningError('Commissioning was stopped', { cause: signal.reason });
}
