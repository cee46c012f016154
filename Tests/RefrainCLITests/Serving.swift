// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain serve`, which listens.
  struct Serving {
    let running: RunningProgram
    /// Its first line: its URL.
    let base: String
    let port: Int

    var errors: String { running.errors }

    /// Requests a path from its port.
    func get(_ path: String, _ fields: [String] = []) async throws -> Reply {
      try await Self.get(path, fields, at: port)
    }

    static func get(_ path: String, _ fields: [String] = [], at port: Int) async throws -> Reply {
      try await RawConnection.open(port: port) {
        try await $0.reply(to: path, fields, host: "127.0.0.1:\(port)")
      }
    }

    /// Reads a line that ends with a URL, and returns the URL's port.
    func nextPort() async throws -> Int {
      let line = try await running.nextLine()
      return try #require(line.split(separator: " ").last.flatMap { URL(string: "\($0)")?.port })
    }

    /// Ends it, and checks its exit code and that nothing was reported.
    func stop(
      _ signal: CInt = SIGTERM, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
      running.send(signal)
      #expect(await running.end() == 128 + signal, sourceLocation: sourceLocation)
      #expect(errors.isEmpty, "\(errors)", sourceLocation: sourceLocation)
    }
  }

  extension Program {
    /// Starts `refrain serve --quiet`, at a free port unless a service manager passes a socket.
    ///
    /// - Parameters:
    ///   - options: further ones.
    ///   - origin: the one that it serves.
    ///   - sockets: as in `RunningProgram`.
    ///   - errors: as in `RunningProgram`.
    func serve(
      _ options: String..., of origin: OriginServer? = nil,
      sockets: [(name: String, descriptor: CInt)] = [], errors: CInt? = nil
    ) async throws -> Serving {
      let place = sockets.isEmpty ? ["--port", "0"] : []
      let one = origin.map { ["--origin", $0.baseURL.absoluteString] } ?? []
      return try await serving(
        RunningProgram(
          self, ["serve", "--quiet"] + place + one + options, sockets: sockets, errors: errors))
    }

    /// Waits until a proxy listens.
    func serving(_ running: RunningProgram) async throws -> Serving {
      let base = try await running.nextLine()
      return Serving(
        running: running, base: base, port: try #require(URL(string: base)?.port, "\(base)"))
    }

    /// Returns the URL for a player.
    func proxied(_ url: String) async throws -> URL {
      let run = try await run("url", url)
      return try #require(run.lines.first.flatMap { URL(string: "\($0)") }, "\(run.errors)")
    }
  }
#endif
