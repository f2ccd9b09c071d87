import { createTransport } from 'nodemailer';
import type { MailSettings } from './mail-settings.js';

export interface Mail {
  /** The same for each attempt, and no other's: a mail that came twice is seen to be one. */
  id: string;
  subject: string;
  text: string;
}

/** A server that is silent for so long is away. */
const SILENT_MS = 20_000;

/** Hands one mail to the server. @throws Error when the server does not take it for every receiver of `to`. */
export async function sendMail({ host, port, tls, login, from, to }: MailSettings, mail: Mail): Promise<void> {
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const transport = createTransport({
    ...{ host, port, secure: tls === 'tls', requireTLS: tls === 'starttls', ignoreTLS: tls === 'none' },
    ...{ connectionTimeout: SILENT_MS, greetingTimeout: SILENT_MS, socketTimeout: SILENT_MS },
    ...{ disableFileAccess: true, disableUrlAccess: true },
    ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
  });
  try {
    const { id: messageId, subject, text } = mail;
    const { rejected } = await transport.sendMail({ from, to, messageId: `<${messageId}@${domain}>`, subject, text });
    if (rejected.length > 0) throw new Error(`the mail server does not take mail for ${rejected.join(', ')}`);
  } finally {
    transport.close();
  }
}
