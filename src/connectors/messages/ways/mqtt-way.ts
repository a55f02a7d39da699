import type { MqttLink } from '../../mqtt/mqtt-link.ts';
import { type Notification, notificationJson } from '../notification.ts';

interface MqttPlace {
  readonly link: Pick<MqttLink, 'deliver'>;
  readonly topic: string;
}

/** Publishes JSON to a topic. It was delivered when the broker says so, and where it can tell, only to somebody who listens. */
export function mqttWay({ link, topic }: MqttPlace) {
  return async (notification: Notification, signal: AbortSignal): Promise<string> => {
    await link.deliver(topic, notificationJson(notification), signal);
    return notification.id;
  };
}
