import '../matter-platform.ts';
import { CommissioningError, ControllerCommissioningFlow } from '@matter/main/protocol';
import { orAborted } from '../../core/clock.ts';
import type { CommissionStep } from '../../core/devices/device-administration.ts';

/** How far a commissioning has come. It decides what the recovery does after an interruption. */
export type CommissionStage =
  /** The device has no data of our fabric. At most its fail-safe timer runs. */
  | 'intent'
  /** The device may have received our fabric. It removes the fabric when its fail-safe timer expires. */
  | 'credentials'
  /** CommissioningComplete was sent, but the hub does not know whether the device has received it. */
  | 'completing'
  /** The device has our fabric permanently. */
  | 'commissioned';

/** Receives the steps and stages of a commissioning. An error that it throws stops the commissioning. */
interface FlowObserver {
  onStep(step: CommissionStep, note: string): void;
  onStage(stage: CommissionStage): void;
  /** If it aborts, the commissioning stops, even in the middle of a step; but CommissioningComplete and later steps are not cut off. */
  readonly signal: AbortSignal;
}

interface StepMeaning {
  readonly step: CommissionStep;
  readonly note: string;
  /** The stages that the commissioning reaches before and after the step; absent if the stage stays the same. */
  readonly before?: CommissionStage;
  readonly after?: CommissionStage;
}

/** Maps the steps of the matter.js commissioning flow to the hub's steps. The keys are the step numbers of Core §5.5. */
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

/** Returns the commissioning flow of matter.js, changed to call `observer` before each step. */
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
  // After CommissioningComplete, the device may have our fabric permanently. If the hub stopped now, it would lose the device.
  const isInterruptible = meaning.before !== 'completing' && meaning.step !== 'interview';
  const work = run();
  const result = await (isInterruptible ? orAborted(work, signal) : work).catch((error: unknown) => {
    throw isInterruptible && signal.aborted && error === signal.reason ? stopped(signal) : error;
  });
  if (meaning.after !== undefined) reachStage(observer, meaning.after);
  return result;
}

/** Reports a stage. Turns an error into a CommissioningError: only then does matter.js end the fail-safe, so that a retry works at once. */
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
