import { isoTime } from '../../../core/iso-time.ts';
import type { MqttLink } from '../../mqtt/mqtt-link.ts';
import type { Notification } from '../notification.ts';

interface MqttPlace {
  readonly link: Pick<MqttLink, 'deliver'>;
  readonly topic: string;
}

/** Publishes JSON to a topic. It was delivered when the broker says so, and where it can tell, only to somebody who listens. */
export function mqttWay({ link, topic }: MqttPlace) {
  return async ({ id, recipient, title, message, urgency, atMs }: Notification, signal: AbortSignal): Promise<string> => {
    const payload = { id, recipient, ...(title !== undefined && { title }), message, urgency, timestamp: isoTime(atMs) };
    await link.deliver(topic, JSON.stringify(payload), signal);
    return id;
  };
}
