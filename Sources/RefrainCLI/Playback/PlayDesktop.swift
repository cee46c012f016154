// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer

  /// The player on the desktop, by MPRIS. Without a bus it does nothing.
  @MainActor
  struct PlayDesktop {
    private let mpris: MPRIS

    /// - Parameters:
    ///   - options: apply to media that the desktop opens.
    ///   - quit: ends the program.
    ///   - note: reports why something could not be opened.
    init(
      _ player: Player, options: GlobalOptions, cache: MediaCache,
      quit: @escaping @MainActor @Sendable () -> Void,
      note: @escaping @MainActor @Sendable (String) -> Void
    ) {
      mpris = MPRIS(MPRIS.Configuration("refrain", identity: "Refrain"))
      mpris.onQuit = quit
      mpris.onOpen = { [weak player] uri in
        await Self.media(uri, player?.queue.items ?? [], options, cache, note)
      }
      mpris.follow(player)
    }

    /// Leaves the desktop.
    func leave() async { await mpris.close() }

    /// Returns the media that a URI names, by the rules of the program's arguments. The headers of
    /// the command line are sent only to servers of the queue that receive them already: never to
    /// those that a local list names, which the user did not name.
    private static func media(
      _ uri: String, _ items: [PlayQueue.Item], _ options: GlobalOptions, _ cache: MediaCache,
      _ note: @MainActor (String) -> Void
    ) async -> [Media] {
      let loading: PlaylistLoading
      do {
        let url = try PlayArgument.parse(uri)
        var options = options
        let fields = options.fields
        let receivesHeaders = items.contains { item in
          let media = item.media
          return !media.url.isFileURL && media.headers == fields
            && media.url.isSameOrigin(as: url)
        }
        if url.isFileURL || !receivesHeaders { options.headers = [] }
        loading = try await PlaylistLoading(of: [url], options: options, from: cache)
      } catch is CancellationError {
        return []
      } catch {
        // Without the password that it may contain.
        let name = URL(text: uri)?.withoutUserInfo.absoluteString ?? "A URI of the desktop"
        note("\(printable(name)) was not opened: \(printable("\(error)"))")
        return []
      }
      for text in loading.skipped { note(printable(text)) }
      for failure in loading.failures {
        note(printable("\(URLArgument.name(of: failure.url)): \(failure.error.reason)"))
      }
      return loading.media
    }
  }
#endif
