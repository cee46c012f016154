// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct FetchPlanTests {
  private static let kib: Int64 = 1 << 10
  private static let mib: Int64 = 1 << 20

  private func plan(_ change: (inout FetchPlan) -> Void = { _ in }) -> FetchPlan {
    var plan = FetchPlan(
      length: 100 * Self.mib, supportsRanges: true, patience: 0.5, firstRequest: 64 * Self.kib,
      maximumReadAhead: 8 * Self.mib)
    change(&plan)
    return plan
  }

  private func waiting(
    at position: Int64, read: Int64 = 0, end: Int64 = .max
  ) -> FetchPlan.Demand {
    .init(
      position: position, runLength: read, end: end, isWaiting: true, isBackground: false,
      minimum: 64 * Self.kib)
  }

  private func reading(at position: Int64, read: Int64) -> FetchPlan.Demand {
    .init(
      position: position, runLength: read, isWaiting: false, isBackground: false,
      minimum: 64 * Self.kib)
  }

  @Test func `A jump asks for little`() {
    let decision = plan().decide(for: waiting(at: 40 * Self.mib), readable: .init(), running: [])
    #expect(decision == .start(40 * Self.mib..<40 * Self.mib + 64 * Self.kib))
  }

  @Test func `Reading on asks for as much as was read, up to the window`() {
    let readable = RangeSet(0..<Self.mib)
    let doubled = plan().decide(
      for: waiting(at: Self.mib, read: Self.mib), readable: readable, running: [])
    #expect(doubled == .start(Self.mib..<2 * Self.mib))
    let most = plan().decide(
      for: waiting(at: Self.mib, read: 90 * Self.mib), readable: readable, running: [])
    #expect(most == .start(Self.mib..<Self.mib + 8 * Self.mib * 2 / 3))
  }

  @Test func `No more than two seconds' worth is asked for`() {
    let slow = plan { $0.rate = 200 * 1024 }
    let decision = slow.decide(
      for: waiting(at: 0, read: 50 * Self.mib), readable: .init(), running: [])
    #expect(decision == .start(0..<400 * Self.kib))
  }

  @Test func `A request ends where the next span begins`() {
    let readable = RangeSet([10 * Self.kib..<20 * Self.kib])
    #expect(
      plan().decide(for: waiting(at: 0), readable: readable, running: [])
        == .start(0..<10 * Self.kib))
  }

  @Test func `A request ends where what is under way begins`() {
    let running = FetchPlan.Running(
      range: 10 * Self.kib..<20 * Self.kib, position: 12 * Self.kib, isWhole: false)
    #expect(
      plan().decide(for: waiting(at: 0), readable: .init(), running: [running])
        == .start(0..<12 * Self.kib))
  }

  @Test func `A request ends with the resource`() {
    let short = plan { $0.length = 1000 }
    #expect(short.decide(for: waiting(at: 10), readable: .init(), running: []) == .start(10..<1000))
    #expect(short.decide(for: waiting(at: 1000), readable: .init(), running: []) == .none)
    #expect(short.decide(for: waiting(at: 5000), readable: .init(), running: []) == .none)
  }

  @Test func `What lies behind the demand's end is asked for up to the smallest request only`() {
    let decision = plan().decide(
      for: waiting(at: 0, read: 4 * Self.mib, end: 10), readable: .init(), running: [])
    #expect(decision == .start(0..<64 * Self.kib))
  }

  @Test func `A fetch that is near is joined`() {
    let running = FetchPlan.Running(range: 0..<Self.mib, position: 0, isWhole: false)
    #expect(
      plan().decide(for: waiting(at: 60 * Self.kib), readable: .init(), running: [running]) == .none
    )
  }

  @Test func `A fetch that comes by in time is joined, one that does not is cut short`() {
    let running = FetchPlan.Running(range: 0..<4 * Self.mib, position: 0, isWhole: false)
    let at = 2 * Self.mib
    #expect(
      plan { $0.rate = 40 * 1024 * 1024 }
        .decide(for: waiting(at: at), readable: .init(), running: [running]) == .none)
    #expect(
      plan { $0.rate = 1024 * 1024 }
        .decide(for: waiting(at: at), readable: .init(), running: [running])
        == .startAndTruncate(at..<at + 64 * Self.kib, 0))
  }

  @Test func `The next request is made when half of the window is left`() {
    let demand = reading(at: Self.mib, read: Self.mib)
    let much = RangeSet(0..<2 * Self.mib - 1)
    #expect(plan().decide(for: demand, readable: much, running: []) == .none)
    let half = Self.mib + Self.mib / 2
    #expect(
      plan().decide(for: demand, readable: RangeSet(0..<half), running: [])
        == .start(half..<half + Self.mib))
  }

  @Test func `No more than two requests serve one reader`() {
    let demand = reading(at: 0, read: Self.mib)
    let running = [
      FetchPlan.Running(range: 0..<100, position: 0, isWhole: false),
      FetchPlan.Running(range: 100..<200, position: 100, isWhole: false),
    ]
    #expect(plan().decide(for: demand, readable: .init(), running: running) == .none)
  }

  @Test func `An origin without ranges is asked for everything, once`() {
    let rangeless = plan {
      $0.supportsRanges = false
      $0.length = 1000
    }
    let demand = waiting(at: 500)
    #expect(rangeless.decide(for: demand, readable: .init(), running: []) == .start(0..<1000))
    let running = FetchPlan.Running(range: 0..<1000, position: 100, isWhole: true)
    #expect(rangeless.decide(for: demand, readable: .init(), running: [running]) == .none)
    let past = FetchPlan.Running(range: 0..<1000, position: 600, isWhole: true)
    #expect(rangeless.decide(for: demand, readable: .init(), running: [past]) == .start(0..<1000))
  }

  /// Whatever is wanted, there and on its way: never what is there or on its way again, never beyond
  /// the end, never nothing; and who waits is served.
  @Test func `Random demands keep the invariants`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    for round in 0..<20_000 {
      let length = Int64.random(in: 1...(4 * Self.mib), using: &random)
      var plan = plan {
        $0.length = Bool.random(using: &random) ? length : nil
        $0.supportsRanges = [true, true, nil, false].randomElement(using: &random) ?? nil
        $0.rate = Bool.random(using: &random) ? Double.random(in: 1...1e8, using: &random) : nil
        $0.patience = [0, 0.5, 1e9].randomElement(using: &random) ?? 0
      }
      if plan.supportsRanges == false { plan.length = length }
      func range() -> ByteRange {
        let lower = Int64.random(in: 0..<length, using: &random)
        return lower..<min(length, lower + Int64.random(in: 1...Self.mib, using: &random))
      }
      var readable = RangeSet<Int64>()
      for _ in 0..<Int.random(in: 0..<6, using: &random) { readable.insert(contentsOf: range()) }
      var running: [FetchPlan.Running] = []
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        let wanted = range()
        running.append(
          .init(
            range: wanted,
            position: Int64.random(in: wanted.lowerBound...wanted.upperBound, using: &random),
            isWhole: plan.supportsRanges == false))
      }
      let demand = FetchPlan.Demand(
        position: Int64.random(in: 0..<length, using: &random),
        runLength: Int64.random(in: 0...(64 * Self.mib), using: &random),
        isWaiting: Bool.random(using: &random), isBackground: Bool.random(using: &random),
        minimum: [1, 64 * Self.kib].randomElement(using: &random) ?? 1)
      let position = demand.position
      let isComing = running.contains { $0.ahead.contains(position) }
      let isServed = readable.contains(position)
      let what = Comment("seed \(seed), round \(round): \(plan) \(demand) \(readable) \(running)")
      switch plan.decide(for: demand, readable: readable, running: running) {
      case .none:
        if demand.isWaiting { #expect(isServed || isComing, what) }
      case .start(let range):
        #expect(!range.isEmpty, what)
        if let end = plan.length { #expect(range.upperBound <= end, what) }
        guard plan.supportsRanges != false else { continue }
        #expect(readable.intersection(RangeSet(range)).isEmpty, what)
        for fetch in running { #expect(!fetch.ahead.overlaps(range), what) }
        if demand.isWaiting, !isServed, !isComing { #expect(range.lowerBound == position, what) }
      case .startAndTruncate(let range, let index):
        #expect(!range.isEmpty && range.lowerBound == position && demand.isWaiting, what)
        #expect(running[index].ahead.contains(position), what)
        #expect(readable.intersection(RangeSet(range)).isEmpty, what)
        if let end = plan.length { #expect(range.upperBound <= end, what) }
        for (other, fetch) in running.enumerated() where other != index {
          if !fetch.ahead.contains(position) { #expect(!fetch.ahead.overlaps(range), what) }
        }
      }
    }
  }
}
