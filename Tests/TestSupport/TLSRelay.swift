// SPDX-License-Identifier: MIT
#if os(Linux)
  package import Foundation

  /// Puts TLS in front of a loopback server, and relays every byte and every end at once: a
  /// connection that the server ends is ended with TLS's close_notify, one that it resets is broken
  /// off.
  package final class TLSRelay: Sendable {
    package let port: UInt16
    private let process: LeashedProcess

    private static let script = """
      import asyncio, ssl, sys

      async def pump(source, sink):
          while data := await source.read(65536):
              sink.write(data)
              await sink.drain()

      async def serve(reader, writer):
          near, far = writer.transport, None
          try:
              answers, requests = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
              far = requests.transport
              asking = asyncio.create_task(pump(reader, requests))
              answering = asyncio.create_task(pump(answers, writer))
              done, rest = await asyncio.wait(
                  (asking, answering), return_when=asyncio.FIRST_COMPLETED)
              for task in rest: task.cancel()
              for task in done: task.result()
              near.close()
              far.close()
          except (OSError, ssl.SSLError):
              near.abort()
              if far: far.abort()

      async def main():
          context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
          context.load_cert_chain(sys.argv[2], sys.argv[3])
          server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context, backlog=128)
          print(server.sockets[0].getsockname()[1], flush=True)
          await server.serve_forever()

      asyncio.run(main())
      """

    /// - Parameter server: the port on which it listens.
    package init(before server: UInt16, _ authority: PrivateAuthority) async throws {
      let output = authority.directory.appending(path: "relay-\(server).txt")
      process = try LeashedProcess(
        RequiredProgram.python3.path,
        ["-c", Self.script, "\(server)", authority.serverCertificate, authority.serverKey],
        in: authority.directory, output: output)
      var said = ""
      try await eventually("the relay listens") {
        said = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        return said.hasSuffix("\n")
      }
      guard let port = UInt16(said.dropLast()) else {
        throw PrivateAuthority.Problem(description: "The relay said: \(said)")
      }
      self.port = port
    }

    package func stop() async { await process.kill() }
  }
#endif
