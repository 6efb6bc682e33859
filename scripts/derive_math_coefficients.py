#!/usr/bin/env python3
"""Derives the polynomials in lib/Conversion/MathCoefficients.h and prints that file.

Each is the minimax polynomial of a function on an interval, for the weight with which its error enters the result,
found by Remez's exchange algorithm in 60 digits. The leading coefficients are rounded to the target's precision one
after the other, the rest being fitted again each time. Needs mpmath (PyPI); takes a few minutes.

    python3 scripts/derive_math_coefficients.py > lib/Conversion/MathCoefficients.h
"""
import struct
import sys

from mpmath import mp, mpf

mp.dps = 60
LN2 = mp.log(2)


def to_single(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_double(x):
    return mpf(float(x))


def fit(f, weight, lo, hi, count, fixed):
    """Minimises max |weight (p - f)| over polynomials with `count` coefficients, the first ones of which are `fixed`."""
    free = count - len(fixed)
    # Fewer points near the ends of the interval would miss the extrema there, so they are Chebyshev's.
    points = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * i / 399) for i in range(400)]
    values, weights = [f(x) for x in points], [weight(x) for x in points]
    rest = [v - sum(c * x**k for k, c in enumerate(fixed)) for x, v in zip(points, values)]
    reference = [round(i * 399 / free) for i in range(free + 1)]
    for _ in range(40):
        matrix, right = mp.matrix(free + 1, free + 1), mp.matrix(free + 1, 1)
        for row, i in enumerate(reference):
            for k in range(free):
                matrix[row, k] = weights[i] * points[i] ** (k + len(fixed))
            matrix[row, free] = (-1) ** row
            right[row] = weights[i] * rest[i]
        solution = mp.lu_solve(matrix, right)
        coefficients = fixed + [solution[k] for k in range(free)]
        errors = [w * (mp.polyval(coefficients[::-1], x) - v) for x, w, v in zip(points, weights, values)]
        # The new reference: one extremum for each run of errors of one sign, the largest ones that alternate.
        runs = []
        for i, e in enumerate(errors):
            if runs and (errors[runs[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > free + 1:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        if len(runs) < free + 1 or runs == reference:
            break
        reference = runs
    return coefficients, max(abs(e) for e in errors)


def derive(name, what, f, weight, lo, hi, count, rounding, one_by_one=3):
    fixed = []
    for _ in range(min(one_by_one, count - 1)):
        fixed.append(rounding(fit(f, weight, lo, hi, count, fixed)[0][len(fixed)]))
    coefficients = [rounding(c) for c in fit(f, weight, lo, hi, count, fixed)[0]]
    points = [lo + (hi - lo) * i / 1000 for i in range(1001)]
    error = max(abs(weight(x) * (mp.polyval(coefficients[::-1], x) - f(x))) for x in points)
    print(f"{name}: 2^{float(mp.log(error, 2)):.1f}", file=sys.stderr, flush=True)
    print(f"/// {what}. Error 2^{float(mp.log(error, 2)):.1f}.")
    digits = 9 if rounding is to_single else 17
    print(f"inline constexpr double {name}[] = {{{', '.join(f'{float(c):.{digits - 1}e}' for c in coefficients)}}};\n")


def taylor(x, f, series):
    """f, or its series where f is 0/0."""
    return series if abs(x) < mpf(10) ** -25 else f(x)


def main():
    one = mpf(1)
    print("""// Coefficients of the polynomials in the expansions of math ops, lowest first; made by
// scripts/derive_math_coefficients.py. "Error" is the largest error relative to the function's result that the
// polynomial causes before rounding; it is to be read against 2^-24 in single and 2^-53 in double precision.
#ifndef GNNC_LIB_CONVERSION_MATHCOEFFICIENTS_H
#define GNNC_LIB_CONVERSION_MATHCOEFFICIENTS_H

namespace gnnc::coefficients {
""")
    half = LN2 / 2 * mpf("1.001")
    for suffix, rounding, n in [("F32", to_single, 0), ("F64", to_double, 1)]:
        derive(f"exp{suffix}", "(exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2; relative to expm1",
               lambda r: taylor(r, lambda r: (mp.expm1(r) - r) / r**2, one / 2),
               lambda r: taylor(r, lambda r: r**2 / mp.expm1(r), mpf(0)), -half, half, [6, 12][n], rounding)
        derive(f"exp2{suffix}", "(2^r - 1) / r for |r| <= 1/2; relative to 2^r",
               lambda r: taylor(r, lambda r: mp.expm1(r * LN2) / r, LN2), lambda r: r / mp.power(2, r),
               -mpf("0.501"), mpf("0.501"), [7, 12][n], rounding)
        top = (mp.sqrt(2) - 1) ** 2 / (mp.sqrt(2) + 1) ** 2 * mpf("1.001")
        # atanh(s) / s - 1 = z/3 + z^2/5 + ..., z = s^2.
        series = lambda z, start: mp.nsum(lambda k: z**k / (2 * (k + start) + 1), [0, 40])
        derive(f"log{suffix}", "(2 atanh(s) - 2 s) / s^3 with z = s^2, s = f / (2 + f), 1 + f in [sqrt 1/2, sqrt 2]",
               lambda z: 2 * series(z, 1), lambda z: z / 2, mpf(0), top, [3, 7][n], rounding)
        derive(f"logTail{suffix}", "(2 atanh(s) / s - 2 - 2 z / 3) / (z^2 ln 2), for a logarithm in twice the precision",
               lambda z: 2 * series(z, 2) / LN2, lambda z: z**2 * LN2 / 2, mpf(0), top, [3, 9][n], rounding)
        quarter = (mp.pi / 4 * mpf("1.04")) ** 2
        derive(f"sin{suffix}", "(sin(r) - r) / r^3 with z = r^2, |r| <= pi / 4",
               lambda z: taylor(z, lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -one / 6),
               lambda z: taylor(z, lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)), mpf(0)), mpf(0), quarter, [3, 6][n], rounding)
        derive(f"cos{suffix}", "(cos(r) - 1 + z / 2) / z^2 with z = r^2, |r| <= pi / 4",
               lambda z: taylor(z, lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, one / 24),
               lambda z: z**2 / mp.cos(mp.sqrt(z)), mpf(0), quarter, [3, 6][n], rounding)
        derive(f"erf{suffix}", "erf(x) / x - 1 with z = x^2, |x| <= 1",
               lambda z: taylor(z, lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 2 / mp.sqrt(mp.pi)) - 1,
               lambda z: taylor(z, lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)), mp.sqrt(mp.pi) / 2), mpf(0), one, [8, 15][n], rounding)
        # The centre 2 makes x - 2 exact; the weight is the part that erfc has in the result.
        derive(f"erfc{suffix}", "-log2(erfc(t + 2)) for t from -1 to where erf rounds to 1; relative to erf",
               lambda t: -mp.log(mp.erfc(t + 2), 2), lambda t: LN2 * mp.erfc(t + 2) / mp.erf(t + 2),
               -one, [mpf("1.93"), mpf("3.93")][n], [10, 20][n], rounding)
        derive(f"atan{suffix}", "(atan(q) / q - 1) / z with z = q^2, 0 <= q <= 1",
               lambda z: taylor(z, lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -one / 3),
               lambda z: taylor(z, lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), mpf(0)), mpf(0), one, [9, 20][n], rounding)
    print("""} // namespace gnnc::coefficients

#endif""")


if __name__ == "__main__":
    main()
