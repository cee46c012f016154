// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The readers and the fetches of a generation, as values by themselves.
@Suite(.timeLimit(.minutes(1))) struct ReadersTests {
  private func reader(
    run: Int64 = 0, at position: Int64 = 0, end: Int64 = .max, isBackground: Bool = false
  ) -> GenerationState.Reader {
    var reader = GenerationState.Reader(position: position, runLength: run, end: end)
    reader.isBackground = isBackground
    if run > 0 { reader.attachment = .fixed }
    return reader
  }

  private func waiter(_ reader: ReaderID, at offset: Int64?) -> GenerationState.Waiter {
    .init(reader: reader, offset: offset, wake: { _ in })
  }

  private func state(length: Int64? = nil) -> GenerationState {
    var state = GenerationState(
      limits: FetchPlan(patience: nil, firstRequest: 50, maximumReadAhead: 1), isOffline: false)
    if let length { establish(length, &state) }
    return state
  }

  private func establish(_ length: Int64, _ state: inout GenerationState) {
    state.establish(
      ContentInformation(
        length: length, mimeType: nil, supportsRanges: true, validator: nil,
        finalURL: URL(filePath: "/")))
  }

  private func wakes(_ state: inout GenerationState) -> Int {
    state.takeActions().reduce(0) { sum, action in
      if case .wake(let wakes, _) = action { sum + wakes.count } else { sum }
    }
  }

  @Test func `The waiting calls of one reader are woken once, and no other's`() {
    var state = state()
    for id in [1, 2] as [ReaderID] { state.readers.add(reader(), as: id) }
    state.readers.add(waiter(1, at: 0), as: 11)
    state.readers.add(waiter(1, at: nil), as: 12)
    state.readers.add(waiter(2, at: 5), as: 13)
    #expect(state.readers.waiting == [1, 2])
    let left = state.readers.waits.filter { $0.readerID == 1 }
    state.wake(left)
    #expect(wakes(&state) == 2)
    state.wake(left)
    #expect(wakes(&state) == 0)
    #expect(state.readers.waiting == [2] && state.readers.waits.map(\.id) == [13])
  }

  @Test func `A reader or a fetch that has left does not come back by a change`() {
    var state = state()
    let id = state.add(reader())
    state.fetches.add(.init(range: 0..<500, position: 0), as: 20)
    state.readers.remove(id)
    state.fetches.remove(20)
    state.readers[id] = reader(at: 7)
    state.fetches[20] = .init(range: 0..<9, position: 0)
    #expect(state.readers.isEmpty && state.fetches.isEmpty)
  }

  @Test func `Prefetches, and readers at their end, say nothing about how far players read`() {
    var (state, known) = (state(), state(length: 500))
    for _ in 0..<8 {
      state.readers.runEnded(reader(run: 500, isBackground: true), in: nil)
      state.readers.runEnded(reader(run: 500, at: 500, end: 500), in: nil)
      known.readers.runEnded(reader(run: 500, at: 500), in: 500)
    }
    #expect(state.readers.usualRun == nil && known.readers.usualRun == nil)
  }

  @Test func `Fewer than four runs give no usual length, and empty ones none`() {
    var state = state(length: 500)
    for run in [20, 0, 40, 0, 30] as [Int64] {
      var reader = reader(run: run)
      reader.attachment = .fixed
      state.readers.runEnded(reader, in: nil)
      #expect(state.readers.usualRun == nil)
    }
    state.readers.runEnded(reader(run: 10), in: nil)
    #expect(state.readers.usualRun == 40)
  }

  @Test func `The usual length is the longest of the latest eight runs`() {
    var state = state()
    for run in [9000, 100, 200, 300, 400, 500, 600, 700] as [Int64] {
      state.readers.runEnded(reader(run: run), in: nil)
    }
    #expect(state.readers.usualRun == 9000)
    state.readers.runEnded(reader(run: 5), in: nil)
    #expect(state.readers.usualRun == 700)
  }

  @Test func `Fetches without readers are watched once until that ends`() {
    var state = state()
    func watches() -> Int {
      state.releaseUnwanted()
      return state.takeActions().count { if case .watchAbandoned = $0 { true } else { false } }
    }
    state.fetches.add(.init(range: 0..<500, position: 0), as: 1)
    #expect(watches() == 1)
    #expect(watches() == 0)
    var isWatched = state.releaseStalled()
    #expect(isWatched)
    state.fetchEnded(1, error: nil)
    isWatched = state.releaseStalled()
    #expect(!isWatched)
    state.fetches.add(.init(range: 0..<500, position: 0), as: 2)
    #expect(watches() == 1)
  }

  @Test func `No fetch goes back, or beyond the length of the resource`() {
    var state = state()
    state.fetches.add(.init(range: 0..<500, position: 0), as: 1)
    state.fetches.add(.init(range: 400..<900, position: 400), as: 2)
    state.fetches.move(1, to: 50)
    state.fetches.move(1, to: 20)
    establish(300, &state)
    #expect(state.fetches.all.mapValues(\.position) == [1: 50, 2: 400])
    #expect(state.fetches[1]?.range == 0..<300 && state.fetches[2]?.range == 300..<300)
  }

  @Test func `A generation that was closed is not replaced after all`() {
    var state = state()
    state.supersede()
    #expect(state.life == .superseded)
    state.close()
    state.supersede()
    #expect(state.life == .closed)
  }
}
