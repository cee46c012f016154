// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct GenerationStateTests {
  private static let error = MediaCacheError(.unreachable, "It broke.")

  private func state(length: Int64? = nil, supportsRanges: Bool = true) -> GenerationState {
    var state = GenerationState(
      limits: FetchPlan(patience: 0.5, firstRequest: 64 << 10, maximumReadAhead: 8 << 20),
      isOffline: false)
    if length != nil {
      state.establish(Self.information(length, supportsRanges))
    }
    return state
  }

  private static func information(_ length: Int64?, _ ranges: Bool = true) -> ContentInformation {
    ContentInformation(
      length: length, mimeType: nil, supportsRanges: ranges, validator: nil,
      finalURL: URL(filePath: "/"))
  }

  private func waiter(_ reader: ReaderID, _ offset: Int64?) -> GenerationState.Waiter {
    .init(reader: reader, offset: offset, wake: { _ in })
  }

  private func attach(
    _ state: inout GenerationState, awaitsConfirmation: Bool = false, isBackground: Bool = false
  ) -> ReaderID {
    var reader = GenerationState.Reader(minimum: 1)
    if awaitsConfirmation { reader.attachment = .unconfirmed }
    reader.isBackground = isBackground
    return state.add(reader)
  }

  private func wait(
    _ state: inout GenerationState, _ reader: ReaderID, at offset: Int64?
  ) -> [GenerationState.Action] {
    let id = state.makeID()
    _ = state.wait(id, waiter(reader, offset))
    return state.takeActions()
  }

  private func wakes(_ actions: [GenerationState.Action]) -> Int {
    actions.reduce(0) { sum, action in
      if case .wake(let wakes, _) = action { sum + wakes.count } else { sum }
    }
  }

  @Test func `A version of one response is confirmed by the request that brings its rest`() {
    var state = state(length: 1000)
    state.representation.follow(replacements: Validator.mostReplacements)
    state.storage.commit(0..<600)
    let request = state.confirmingRequest(for: .init(minimum: 1), at: 100)
    #expect(request.range == 600..<1000 && request.fills)
  }

  @Test func `Fetches that share bytes are each reported as running`() throws {
    var state = state(length: 1 << 20)
    state.fetches.add(.init(range: 0..<500, position: 0), as: 1)
    state.fetches.add(.init(range: 400..<900, position: 400), as: 2)
    state.fetches.move(2, to: 450)
    #expect(state.fetching == RangeSet(0..<900))
    state.fetchEnded(1, error: nil)
    #expect(state.fetching == RangeSet(400..<900))
  }

  @Test func `A confirmation is reported as running once it brings bytes`() throws {
    var state = state(length: 1000)
    let reader = attach(&state, awaitsConfirmation: true)
    _ = wait(&state, reader, at: 0)
    let id = try #require(state.fetches.all.keys.first)
    #expect(state.fetching.isEmpty)
    state.fetches[id]?.purpose = .bytes
    #expect(!state.fetching.isEmpty)
  }

  @Test func `A reader keeps waiting if another fetch will bring its bytes`() {
    var state = state(length: 1 << 20)
    let reader = attach(&state)
    _ = wait(&state, reader, at: 0)
    let id = state.fetches.all.keys.min() ?? 0
    let other = state.makeID()
    state.fetches.add(.init(range: 0..<1 << 20, position: 0), as: other)
    #expect(!state.endsInVain(id))
    state.fetchEnded(id, error: nil)
    #expect(state.readers.waiters.count == 1)
  }

  @Test func `A fetch that fails beyond its range ends without a trap`() {
    var state = state()
    let reader = attach(&state)
    _ = wait(&state, reader, at: 500)
    let id = state.fetches.all.keys.first ?? 0
    state.fetches.move(id, to: 900)
    // The origin reports a length below the fetch's position.
    state.establish(Self.information(600))
    state.fetchEnded(id, error: Self.error)
    #expect(state.fetches[id] == nil)
  }

  @Test func `Reads that advance by the available bytes count as sequential`() {
    var state = state(length: 8 << 20)
    state.storage.commit(0..<4 << 20)
    let reader = attach(&state)
    for step in 0..<4 {
      _ = state.lookUp(reader, at: Int64(step) << 20, count: 0)
      // As if there were a file in which it finds them.
      state.readers[reader]?.activity = .reading
    }
    #expect(state.readers[reader]?.runLength == 3 << 20)
    _ = state.lookUp(reader, at: 6 << 20, count: 0)
    #expect(state.readers[reader]?.runLength == 0)
  }

  @Test func `A detached reader looks up its bytes again`() {
    var state = state(length: 1000)
    let reader = attach(&state)
    state.detach(reader)
    guard case .moved = state.lookUp(reader, at: 0, count: 1) else {
      Issue.record("It should look again.")
      return
    }
    let outcome = state.wait(state.makeID(), waiter(reader, 0))
    #expect(throws: Never.self) { try outcome?.get() }
    #expect(outcome != nil)
  }

  @Test func `Bytes held only in memory are released with the last reader`() {
    var state = state(length: 1000)
    state.storage.refuse(.noRoom)
    let reader = attach(&state)
    _ = wait(&state, reader, at: 0)
    let id = state.fetches.all.keys.first ?? 0
    let isKept = state.commitTransient(id, Data(count: 100), at: 0)
    #expect(isKept)
    #expect(wakes(state.takeActions()) == 1)
    #expect(!state.transient.isEmpty)
    state.detach(reader)
    #expect(state.transient.isEmpty)
  }

  @Test func `A jump to the end releases what the reader no longer wants`() {
    let length: Int64 = 100 << 20
    var state = state(length: length)
    let (jumping, waiting) = (attach(&state), attach(&state))
    let id = state.makeID()
    state.fetches.add(.init(range: 0..<50 << 20, position: 2 << 20), as: id)
    state.fetches[id]?.brought = 2 << 20
    state.transient.insert(Data(count: 1), at: 2 << 20)
    _ = state.lookUp(jumping, at: 2 << 20, count: 1)
    _ = state.lookUp(waiting, at: 80 << 20, count: 1)
    _ = wait(&state, waiting, at: 80 << 20)
    #expect(state.fetches[id]?.isCalledOff == false)
    _ = state.lookUp(jumping, at: length, count: 1)
    #expect(state.fetches[id]?.isCalledOff == true)
  }

  /// Random operations: at every moment, each waiter has a fetch that reaches its offset or a
  /// confirmation; once every fetch has ended, no waiter remains.
  @Test func `Every waiter ends after random operations`() throws {
    let seed = TestSeed.next()
    // The file is never written or read.
    let path = FileManager.default.temporaryDirectory.appending(path: "refrain-\(UUID()).wav").path
    let file = try EntryFile(path: path, mode: .create, disk: SystemDisk())
    try FileManager.default.removeItem(atPath: path)
    var random = SeededGenerator(seed: seed)
    for round in 0..<400 {
      let length = Int64.random(in: 1...(2 << 20), using: &random)
      let ranges = Int.random(in: 0..<4, using: &random) > 0
      var state = state()
      state.storage.begin("1", in: file, nil)
      if Int.random(in: 0..<8, using: &random) == 0 { state.storage.refuse(.noRoom, until: .now) }
      var log: [String] = []
      for step in 0..<60 {
        let op = Int.random(in: 0..<12, using: &random)
        log.append("\(op)")
        let fetch = state.fetches.all.keys.sorted().randomElement(using: &random)
        let reader = state.readers.all.keys.sorted().randomElement(using: &random)
        switch op {
        case 0, 1:
          let id = attach(
            &state, awaitsConfirmation: state.info != nil && Bool.random(using: &random),
            isBackground: Bool.random(using: &random))
          state.readers[id]?.end = Bool.random(using: &random) ? length / 2 : .max
        case 2:
          if let reader { state.detach(reader) }
        case 3, 4, 5:
          guard let reader else { continue }
          let offset = Int64.random(in: 0...length + 10, using: &random)
          let isNil = Int.random(in: 0..<6, using: &random) == 0
          if case .wait = state.lookUp(reader, at: offset, count: 100) {
            _ = wait(&state, reader, at: isNil ? nil : offset)
          }
        case 6:
          if let waiter = state.readers.waiters.keys.sorted().randomElement(using: &random) {
            state.cancelWaiter(waiter)
          }
        case 7, 8, 9:
          if let fetch { receive(&state, fetch, length, ranges, &random) }
        case 10:
          guard let fetch else { continue }
          if state.fetches[fetch]?.isConfirmation == true {
            if Bool.random(using: &random) { state.confirmed(at: .now) }
          }
          state.fetchEnded(fetch, error: nil)
        default:
          if let fetch { state.fetchEnded(fetch, error: Self.error) }
        }
        check(state, "seed \(seed), round \(round), step \(step), \(log.joined(separator: " "))")
      }
      for _ in 0..<2000 {
        guard let fetch = state.fetches.all.keys.min() else { break }
        if state.fetches[fetch]?.isConfirmation == true {
          state.confirmed(at: .now)
        } else {
          // The fetch ends, however many chunks that takes.
          for _ in 0..<100 { receive(&state, fetch, length, ranges, &random) }
        }
        state.fetchEnded(fetch, error: nil)
      }
      try #require(
        state.readers.waiters.isEmpty && state.fetches.isEmpty,
        """
        seed \(seed), round \(round), length \(length), ranges \(ranges):
        readers \(state.readers.all)
        fetches \(state.fetches.all)
        waiters \(state.readers.waiters.mapValues { "\($0.reader) at \($0.offset ?? -1)" })
        transient \(state.isTransient) \(state.transient.spans), stored \(state.stored)
        """)
    }
  }

  /// Handles one received chunk as a fetch does.
  private func receive(
    _ state: inout GenerationState, _ id: FetchID, _ length: Int64, _ ranges: Bool,
    _ random: inout SeededGenerator
  ) {
    guard let fetch = state.fetches[id], !fetch.isConfirmation else { return }
    if state.info == nil || (!ranges && !fetch.isWhole) {
      if !ranges { state.fetches[id]?.beginWhole(to: length) }
      state.establish(Self.information(length, ranges))
      return
    }
    guard fetch.position < fetch.range.upperBound else { return }
    let most = min(length, fetch.range.upperBound)
    guard fetch.position < most else { return }
    let end = min(most, fetch.position + Int64.random(in: 1...(256 << 10), using: &random))
    if state.isTransient {
      let bytes = Data(count: Int(end - fetch.position))
      if !state.commitTransient(id, bytes, at: fetch.position) {
        state.fetchEnded(id, error: Self.error, isForBackground: true)
      }
    } else if let file = state.file {
      _ = state.commit(id, fetch.position..<end, to: file, now: .now)
    }
  }

  private func check(_ state: GenerationState, _ what: @autoclosure () -> String) {
    for waiter in state.readers.waiters.values {
      let isAwaiting = state.readers[waiter.reader]?.awaitsConfirmation == true
      let isLookedAfter = state.fetches.values.contains { fetch in
        if isAwaiting { return fetch.isConfirmation }
        guard let offset = waiter.offset else { return !fetch.isConfirmation }
        return (min(fetch.position, fetch.range.upperBound)..<fetch.range.upperBound).contains(
          offset)
      }
      if !isLookedAfter { Issue.record("\(waiter) is forgotten: \(what())") }
      if let offset = waiter.offset, !isAwaiting, state.stored.contains(offset) {
        Issue.record("\(waiter) sleeps on: \(what())")
      }
    }
    for (id, fetch) in state.fetches.all where fetch.isWhole {
      let waits = state.readers.waiters.values.contains { waiter in
        guard let offset = waiter.offset else { return false }
        return (min(fetch.position, fetch.range.upperBound)..<fetch.range.upperBound).contains(
          offset)
          && state.readers[waiter.reader]?.awaitsConfirmation != true
      }
      let others = state.fetches.all.contains { $0.key != id && $0.value.isWhole }
      if waits, !others, !state.isWanted(id) { Issue.record("\(fetch) is paused: \(what())") }
    }
  }
}
