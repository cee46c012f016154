// SPDX-License-Identifier: MIT

/// Encodes the headers of the media, which may contain a token (see `Media`).
extension PlayQueue: Codable {
  private enum CodingKeys: String, CodingKey {
    case items, position, repeatMode, shuffled, generator, nextID
  }

  /// The limit of ids: a larger one means damaged data, because nobody adds so many items.
  private static let idLimit: UInt64 = 1 << 62

  /// - Throws: `DecodingError`, also if the stored values contradict each other.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func check(_ isRight: Bool, _ key: CodingKeys, _ wrong: String) throws {
      guard !isRight else { return }
      throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: wrong)
    }

    items = try container.decode([Item].self, forKey: .items)
    position = try container.decode(Int.self, forKey: .position)
    repeatMode = try container.decode(RepeatMode.self, forKey: .repeatMode)
    generator = try container.decode(ShuffleGenerator.self, forKey: .generator)
    nextID = try container.decode(UInt64.self, forKey: .nextID)

    try check(Set(items.map(\.id)).count == items.count, .items, "Two items have the same id.")
    try check(nextID < Self.idLimit, .nextID, "The next id \(nextID) is too large.")
    try check(
      items.allSatisfy { $0.id.rawValue < nextID }, .nextID, "The next id is already in use.")
    try check(
      (0...items.count).contains(position), .position,
      "Position \(position) is outside the \(items.count) items.")
    if let stored = try container.decodeIfPresent(ShuffledOrder.self, forKey: .shuffled) {
      shuffled = ShuffledOrder(checking: stored, count: items.count, position: position)
      try check(shuffled != nil, .shuffled, "The order does not match \(items.count) items.")
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(items, forKey: .items)
    try container.encode(position, forKey: .position)
    try container.encode(repeatMode, forKey: .repeatMode)
    try container.encodeIfPresent(shuffled, forKey: .shuffled)
    try container.encode(generator, forKey: .generator)
    try container.encode(nextID, forKey: .nextID)
  }
}
