// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain

  /// Decides which picture is shown for the current item, and when it is loaded. A pure value.
  ///
  /// The picture that a playlist or the app states comes first. Otherwise the media itself is looked
  /// into once the player has what it needs, and once more when all of it is stored, if bytes were
  /// missing.
  struct MPRISCoverPlan: Sendable {
    enum Source: Sendable, Hashable {
      case url(URL)
      /// The picture in the media.
      case media(TagSubject)
    }

    private enum Progress {
      case due, running
      /// Bytes of the media were missing.
      case partial
      case runningAgain, over
    }

    /// Nil: the item has no picture.
    private(set) var source: Source?
    private var item: PlayQueue.Item?
    private var progress = Progress.due

    /// The picture that is a file already; nil: it has to be loaded.
    var file: URL? {
      if case .url(let url) = source, url.isFileURL { url } else { nil }
    }

    /// Takes over a state.
    ///
    /// - Returns: whether another picture is to be shown.
    mutating func update(_ state: PlayerState) -> Bool {
      guard state.item != item else { return false }
      item = state.item
      let source = item.flatMap { Self.source(of: $0.media) }
      // Items of one file, or with one picture of their list, share it.
      guard source != self.source else { return false }
      (self.source, progress) = (source, .due)
      if source == nil || file != nil { progress = .over }
      return true
    }

    private static func source(of media: Media) -> Source? {
      if let artwork = media.artwork { return .url(artwork) }
      // A manifest has no picture.
      return StreamLookup.isNamed(media) ? nil : .media(TagSubject(media))
    }

    /// Returns what to load now; nil: nothing.
    mutating func next(_ state: PlayerState) -> Source? {
      guard let source, isDue(state) else { return nil }
      progress = progress == .partial ? .runningAgain : .running
      return source
    }

    private func isDue(_ state: PlayerState) -> Bool {
      switch (source, progress) {
      case (.url, .due): true
      case (.media, .due): state.isUnhurried && !state.isLive
      case (.media, .partial): state.cacheProgress?.isComplete == true
      default: false
      }
    }

    /// Records that the loading of the current source is over.
    ///
    /// - Parameter isPartial: whether bytes of the media were missing.
    mutating func note(isPartial: Bool) {
      progress = isPartial && progress == .running ? .partial : .over
    }
  }
#endif
