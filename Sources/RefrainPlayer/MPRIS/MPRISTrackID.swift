// SPDX-License-Identifier: MIT
#if os(Linux)
  /// The ids of queue items as paths on the bus. No object is there.
  enum MPRISTrackID {
    /// In the place of a track where there is none.
    static let none = "/org/mpris/MediaPlayer2/TrackList/NoTrack"

    private static let prefix = "/refrain/track/"

    static func path(_ id: PlayQueue.Item.ID) -> String { prefix + String(id.rawValue) }

    static func path(_ item: PlayQueue.Item?) -> String { item.map { path($0.id) } ?? none }

    /// Returns the item of the queue with this path.
    static func item(_ path: String, in items: [PlayQueue.Item]) -> PlayQueue.Item? {
      guard path.hasPrefix(prefix), let number = UInt64(path.dropFirst(prefix.count)) else {
        return nil
      }
      // Only the one way of writing the number.
      return items.first { $0.id.rawValue == number && self.path($0.id) == path }
    }
  }
#endif
