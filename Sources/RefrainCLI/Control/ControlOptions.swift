// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser

  /// The option of `play` for programs that control it.
  struct ControlOptions: ParsableArguments {
    @Option(
      help: ArgumentHelp(
        """
        Create a socket at this path, through which programs of the same user control the player \
        and receive the events of --json, in the shape of mpv's JSON IPC.
        """, valueName: "path"),
      completion: .file())
    var control: String?

    /// Runs `body` with the socket, which is removed at its end.
    func serving(
      _ options: GlobalOptions, _ body: (ControlServer?) async throws -> Void
    ) async throws {
      let server: ControlServer? =
        if let control { try await ControlServer.open(control, options) } else { nil }
      let result: Result<Void, any Error>
      do {
        result = .success(try await body(server))
      } catch {
        result = .failure(error)
      }
      await server?.close()
      try result.get()
    }
  }
#endif
