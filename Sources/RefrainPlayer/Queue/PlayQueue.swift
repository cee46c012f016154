// SPDX-License-Identifier: MIT
import Foundation

/// A list of media, the current item, and the rules for repeating and shuffling. A value without
/// side effects.
///
/// The first item added becomes current. Nothing is current in an empty queue, and after the
/// current item was removed with none to follow: an item then added at the end becomes current.
///
/// A shuffled queue keeps a play order besides the list order. Played items come before the current
/// one, the others after it. Going back follows the items that were played, and going forward again
/// follows the same ones. New items are inserted among those not played yet.
///
/// All randomness comes from a generator within the value: `advance(_:)` selects the item that
/// `next(_:)` returned, and a queue continues after encoding and decoding as it would have
/// otherwise.
public struct PlayQueue: Sendable, Hashable {
  /// An item of the list. The same media may be in it more than once.
  public struct Item: Sendable, Hashable, Codable, Identifiable {
    /// An identifier that is never reused in a queue, even after encoding and decoding.
    public struct ID: Sendable, Hashable, Codable {
      public let rawValue: UInt64
    }

    public let id: ID
    public var media: Media
  }

  public enum RepeatMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// The queue ends after the last item in play order.
    case off
    /// The current item repeats until another one is requested, which is selected as with `off`.
    case one
    /// The first item follows the last one; in a shuffled queue, each round has another order.
    case all
  }

  /// The items in list order.
  public internal(set) var items: [Item] = []
  public var repeatMode: RepeatMode = .off

  /// The current place in play order; the number of items if nothing is current.
  var position = 0
  /// The shuffled order; nil if the list order plays.
  var shuffled: ShuffledOrder?
  var generator: ShuffleGenerator
  var nextID: UInt64 = 0

  public init() {
    self.init(seed: .random(in: 0 ... .max))
  }

  /// - Parameter seed: determines all shuffling.
  public init(seed: UInt64) {
    generator = ShuffleGenerator(seed: seed)
  }

  public var isEmpty: Bool { items.isEmpty }

  public var isShuffled: Bool { shuffled != nil }

  public var current: Item? { currentIndex.map { items[$0] } }

  /// The index of the current item in `items`.
  public var currentIndex: Int? {
    guard position < items.count else { return nil }
    return shuffled?.indices[position] ?? position
  }

  /// The items in play order: `items` if the queue is not shuffled. Played items come before the
  /// current one.
  public var playOrder: [Item] { shuffled?.indices.map { items[$0] } ?? items }
}
