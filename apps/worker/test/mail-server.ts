import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

/** How the server behaves to the next mails. `refuses one`: receiver. `drop`: it hangs up in the middle. */
export type MailMood = 'takes' | 'refuses' | 'refuses one' | 'drop';

/** The receiver that is refused. */
export const NOBODY = 'nobody@example.org';

/** A mail server on a free port that speaks as much of RFC 5321 as a client needs, and keeps what it was given. */
export class MailServer {
  readonly mails: { from: string; to: string[]; data: string }[] = [];
  mood: MailMood = 'takes';
  private readonly sockets = new Set<Socket>();
  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(): Promise<MailServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const started = new MailServer(server, port);
    server.on('connection', (socket) => started.serve(socket));
    return started;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.setEncoding('utf8');
    const talk: Talk = { mail: { from: '', to: [], data: '' }, isData: false };
    let buffered = '';
    socket.on('data', (text: string) => {
      buffered += text;
      for (let end = buffered.indexOf('\r\n'); end >= 0; end = buffered.indexOf('\r\n')) {
        const line = buffered.slice(0, end);
        buffered = buffered.slice(end + 2);
        const answer = talk.isData ? this.hear(talk, line) : this.command(talk, line);
        if (answer === 'hang up') socket.destroy();
        else if (answer !== undefined) socket.write(`${answer}\r\n`);
      }
    });
    socket.write('220 test\r\n');
  }

  private command(talk: Talk, line: string): string {
    const [verb = ''] = line.toUpperCase().split(' ');
    if (verb === 'MAIL') talk.mail = { from: line.slice('MAIL FROM:'.length), to: [], data: '' };
    if (verb === 'RCPT') {
      if (this.mood === 'refuses' || (this.mood === 'refuses one' && line.includes(NOBODY)))
        return '550 nobody of that name';
      talk.mail.to.push(/<(.*)>/.exec(line)?.[1] ?? '');
    }
    if (verb === 'QUIT') return '221 bye';
    if (verb !== 'DATA') return '250 ok';
    if (this.mood === 'drop') return 'hang up';
    talk.isData = true;
    return '354 go on';
  }

  private hear(talk: Talk, line: string): string | undefined {
    if (line !== '.') {
      talk.mail.data += `${line}\n`;
      return undefined;
    }
    talk.isData = false;
    // Long lines come in quoted-printable.
    this.mails.push({ ...talk.mail, data: talk.mail.data.replaceAll('=\n', '') });
    return '250 taken';
  }
}

interface Talk {
  mail: { from: string; to: string[]; data: string };
  isData: boolean;
}
