// SPDX-License-Identifier: MIT
import RefrainPlayer
import TestSupport
import Testing

/// A queue matches its plain-list model after any sequence of operations.
@Suite(.timeLimit(.minutes(TestSeed.minutes(5)))) struct QueueModelTests {
  @Test func `A queue matches its model after random operations`() async throws {
    let seed = TestSeed.next()
    print("QueueModelTests: REFRAIN_SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let sequences = TestSeed.isSoak ? 200_000 : TestSeed.isSanitized ? 1_000 : 1_500
    for sequence in 0..<sequences {
      var run = QueueRun(seed: generator.next())
      for _ in 0..<Int.random(in: 5..<30, using: &generator) {
        do {
          try run.step(&generator)
        } catch let wrong as QueueModel.Wrong {
          Issue.record("\(wrong.text); sequence \(sequence), REFRAIN_SEED=\(seed): \(run.steps)")
          return
        }
      }
      if sequence % 100 == 0 { await Task.yield() }
    }
  }

  /// In a debug build as well, quadratic time would take minutes.
  @Test(arguments: [false, true]) func `A queue of ten thousand items plays each of them`(
    _ isShuffled: Bool
  ) throws {
    let media = Media.named("a")
    var queue = PlayQueue(seed: 1)
    queue.repeatMode = .all
    queue.setShuffled(isShuffled)
    queue.append(Array(repeating: media, count: 10_000))
    var played: Set<QueueID> = []
    for _ in 0..<10_000 {
      if let id = queue.current?.id { played.insert(id) }
      #expect(queue.next(.ended)?.id == queue.advance(.ended)?.id)
    }
    #expect(played.count == 10_000)
    let last = try #require(queue.items.last?.id)
    queue.move(last, to: 0)
    queue.remove(last)
    #expect(queue.items.count == 9999)
  }
}

/// A queue beside its model.
private struct QueueRun {
  var queue: PlayQueue
  var model = QueueModel()
  var seen: Set<QueueID> = []
  var steps: [String] = []

  private static let media: [Media] = "abcdefgh".media

  init(seed: UInt64) { queue = PlayQueue(seed: seed) }

  private mutating func note(_ step: String) { steps.append(step) }

  private mutating func isNew(_ ids: [QueueID], count: Int) throws {
    try model.require(ids.count == count, "an id for each")
    for id in ids { try model.require(seen.insert(id).inserted, "\(id) was given twice") }
  }

  mutating func step(_ generator: inout SeededGenerator) throws {
    let count = Int.random(in: 0...3, using: &generator)
    let media = Array(Self.media.shuffled(using: &generator).prefix(count))
    let index = Int.random(in: -1...(queue.items.count + 1), using: &generator)
    switch Int.random(in: 0..<22, using: &generator) {
    case 0:
      let ids = queue.replace(with: media + media, startingAt: index)
      note("replace \(ids.count) at \(index)")
      try isNew(ids, count: 2 * count)
      try model.replaced(by: ids, startingAt: index, queue)
    case 1, 2:
      let end = queue.items.count
      let ids = queue.append(media)
      note("append \(count)")
      try isNew(ids, count: count)
      try model.inserted(ids, at: end, queue)
    case 3, 4:
      let ids = queue.insert(media, at: index)
      note("insert \(count) at \(index)")
      try isNew(ids, count: count)
      try model.inserted(ids, at: index, queue)
    case 5, 6:
      let ids = queue.insertNext(media)
      note("insertNext \(count)")
      try isNew(ids, count: count)
      model.insertedNext(ids)
    case 7, 8, 9: try touch(&generator, index)
    case 10, 11, 12, 13:
      // Several at a time, so that rounds end.
      let cause: PlayQueue.Cause = Bool.random(using: &generator) ? .ended : .asked
      for _ in 0..<Int.random(in: 1...8, using: &generator) { try advance(cause) }
    case 14, 15, 16:
      for _ in 0..<Int.random(in: 1...8, using: &generator) { try goBack() }
    case 17:
      note("shuffled \(!queue.isShuffled)")
      queue.setShuffled(!queue.isShuffled)
      if queue.isShuffled {
        try model.shuffled(queue)
      } else {
        model.shuffledOrder = nil
      }
    case 18, 19:
      queue.repeatMode = PlayQueue.RepeatMode.allCases.randomElement(using: &generator) ?? .off
      note("repeat \(queue.repeatMode)")
      model.mode = queue.repeatMode
    case 20:
      note("rewind")
      queue.rewind()
      model.rewound()
    default:
      note("store")
      let stored = try queue.throughJSON()
      try model.require(stored == queue, "stored and read, it is another")
      // From here on the decoded queue has to continue as the original would.
      queue = stored
    }
    try model.check(queue)
  }

  /// Removes, moves or jumps to an item, rarely one that is gone.
  private mutating func touch(_ generator: inout SeededGenerator, _ index: Int) throws {
    let isCurrent = Int.random(in: 0..<3, using: &generator) == 0
    let any = Bool.random(using: &generator) ? queue.items.map(\.id) : Array(seen)
    guard
      let id = (isCurrent ? queue.current?.id : nil)
        ?? any.sorted(by: { $0.rawValue < $1.rawValue }).randomElement(using: &generator)
    else { return }
    let before = queue
    let wasThere = model.listed.contains(id)
    let answer: Bool
    switch Int.random(in: 0..<3, using: &generator) {
    case 0:
      let next = queue.next(.asked)?.id
      let wasCurrent = id == queue.current?.id
      answer = queue.remove(id)
      note("remove \(id.rawValue)")
      if answer { try model.removed(id, queue) }
      if wasCurrent {
        try model.require(queue.current?.id == (next == id ? nil : next), "what next had shown")
      }
    case 1:
      answer = queue.move(id, to: index)
      note("move \(id.rawValue) to \(index)")
      if answer { model.moved(id, to: index) }
    default:
      answer = queue.jump(to: id)
      note("jump to \(id.rawValue)")
      if answer { model.jumped(to: id) }
    }
    try model.require(answer == wasThere && (answer || queue == before), "found, or left alone")
  }

  private mutating func advance(_ cause: PlayQueue.Cause) throws {
    let (before, next) = (queue.current, queue.next(cause))
    let advanced = queue.advance(cause)
    note("advance \(cause)")
    try model.require(advanced == next, "next and advance agree")
    try model.require(
      advanced == nil ? queue.current == before : queue.current == advanced, "is it")
    try model.advanced(cause, queue)
    try model.check(queue)
    if let advanced, let before, advanced != before {
      var back = queue
      try model.require(back.goBack() == before, "going back returns")
      try model.require(back.advance(.asked) == advanced, "and forward again")
    }
  }

  private mutating func goBack() throws {
    let (before, previous) = (queue.current, queue.previous())
    let back = queue.goBack()
    note("goBack")
    try model.require(back == previous, "previous and goBack agree")
    try model.require(back == nil ? queue.current == before : queue.current == back, "is it")
    model.wentBack()
    try model.check(queue)
    if let back, let before, back != before {
      var forward = queue
      try model.require(forward.advance(.asked) == before, "forward leads where it came from")
    }
  }
}
