// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// The media that somebody names while others play: in the screen, or on the desktop. The rules are
/// those of the program's arguments.
struct AddedMedia: Sendable {
  /// Something that does not play.
  struct Problem: Sendable, Hashable {
    var reason: String
    /// Empty: the reason says it all.
    var remedy = ""
  }

  private(set) var media: [Media] = []
  private(set) var problems: [Problem] = []

  /// Finds the media. The headers of the command line are sent only to servers of the queue that
  /// receive them already: never to those that a local list names, which the user did not name.
  ///
  /// - Parameters:
  ///   - texts: paths and URLs, as arguments of `play`. Standard input is refused: it belongs to
  ///     the program.
  ///   - items: those of the queue.
  ///   - options: the options of the command line.
  ///   - cache: stores lists that are read.
  ///   - show: receives a line about the progress, if reading takes long.
  /// - Throws: `CancellationError`; `InvalidArgument` if a text is no path and no URL.
  init(
    _ texts: [String], beside items: [PlayQueue.Item], _ options: GlobalOptions,
    from cache: MediaCache, showing show: (@Sendable (String) -> Void)? = nil
  ) async throws {
    for text in texts {
      let url = try await IOThreads.background.run { try PlayArgument.parse(text) }
      guard url != PlayArgument.standardInput else {
        throw InvalidArgument("standard input cannot be read: name a path or a URL")
      }
      let loading = try await PlaylistLoading(
        of: [url], options: Self.options(options, for: url, items), from: cache, showing: show)
      media += loading.media
      problems += loading.skipped.map { Problem(reason: $0) }
      problems += loading.failures.map { failure in
        let name = URLArgument.name(of: failure.url)
        let (reason, remedy) = (failure.error.reason, failure.error.remedy)
        return Problem(
          reason: reason.contains(name) ? reason : "\(name): \(reason)", remedy: remedy)
      }
    }
  }

  private static func options(
    _ options: GlobalOptions, for url: URL, _ items: [PlayQueue.Item]
  ) -> GlobalOptions {
    var options = options
    let fields = options.fields
    let receivesHeaders = items.contains { item in
      let media = item.media
      return !media.url.isFileURL && media.headers == fields && media.url.isSameOrigin(as: url)
    }
    if url.isFileURL || !receivesHeaders { options.headers = [] }
    return options
  }
}

#if os(Linux)
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
