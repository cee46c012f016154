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
      // The name of packaging/refrain.desktop, which packages install: it has the icon.
      mpris = MPRIS(
        MPRIS.Configuration("refrain", identity: "Refrain", desktopEntry: "refrain"))
      // MPRIS follows the player's own window by itself. libmpv has no command that raises it.
      mpris.onQuit = quit
      mpris.onOpen = { [weak player] uri in
        await Self.media(uri, player?.queue.items ?? [], options, cache, note)
      }
      mpris.follow(player)
    }

    /// Leaves the desktop.
    func leave() async { await mpris.close() }

    /// Returns the media that a URI names.
    private static func media(
      _ uri: String, _ items: [PlayQueue.Item], _ options: GlobalOptions, _ cache: MediaCache,
      _ note: @MainActor (String) -> Void
    ) async -> [Media] {
      do {
        let added = try await AddedMedia([uri], beside: items, options, from: cache)
        for problem in added.problems { note(printable(problem.reason)) }
        return added.media
      } catch is CancellationError {
        return []
      } catch {
        // Without the password that it may contain.
        let name = URL(text: uri)?.withoutUserInfo.absoluteString ?? "A URI of the desktop"
        note("\(printable(name)) was not opened: \(printable("\(error)"))")
        return []
      }
    }
  }
#endif
